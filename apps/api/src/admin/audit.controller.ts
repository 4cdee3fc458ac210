import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Problems } from '../http/problems.decorator.js';
import { Audit } from '../callers/audit.js';
import { auditPage, auditQuery } from '../callers/schemas.js';

@ApiTags('admin')
@Controller('v1/admin/audit')
export class AuditController {
  constructor(private readonly audit: Audit) {}

  @Get()
  @ApiOperation({
    summary: 'List what operators changed',
    description:
      'Lists about the last 10,000 changes, the newest first. They are sessions, and requests with a scope ' +
      '`…:admin` that change something, refused or not.',
  })
  @Answers(auditPage, 'A page of entries.')
  @Problems('invalid-query', 'invalid-cursor')
  async listAudit(
    @Query({ schema: auditQuery }) { cursor, limit }: z.infer<typeof auditQuery>,
  ): Promise<z.infer<typeof auditPage>> {
    return this.audit.page(limit, cursor);
  }
}
