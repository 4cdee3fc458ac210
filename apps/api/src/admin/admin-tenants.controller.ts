import { Body, Controller, Delete, Get, HttpStatus, Param, Put, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import type { ShownUsage } from '../limits/usage.js';
import { Usage } from '../limits/usage.js';
import { pageOf, readCursor } from '../market/cursor.js';
import { Problem } from '../problems/problem.js';
import { DEFAULT_TENANT } from '../tenants/tenancy.js';
import { putTenantBody, tenantId, tenantSchema, tenantsPage, tenantsQuery } from '../callers/schemas.js';
import type { QuotaValues, TenantRecord, TenantTerms } from '../callers/tenant-store.js';
import { TenantStore } from '../callers/tenant-store.js';

const LIST = 'tenants';

type ShownTenant = TenantRecord & { readonly usage: ShownUsage | null };

@ApiTags('admin')
@Controller('v1/admin/tenants')
export class AdminTenantsController {
  constructor(
    private readonly store: TenantStore,
    private readonly usage: Usage,
  ) {}

  @Put(':id')
  @ApiOperation({
    summary: 'Create a tenant, or change its name, limit and quotas',
    description:
      'There are up to 1,000 tenants. Each tenant has its own data, and ids of other tenants are unknown to it. ' +
      'A repeated request changes nothing.',
  })
  @Creates(
    tenantSchema,
    'The tenant is created.',
    'The tenant existed. Its name, limit and quotas are changed.',
  )
  @Problems('invalid-id', ...BODY_PROBLEMS, 'too-many-tenants')
  async putTenant(
    @Param('id', { schema: tenantId }) id: string,
    @Body({ schema: putTenantBody }) body: z.infer<typeof putTenantBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ShownTenant> {
    requireOther(id);
    const isNew = (await this.store.put(id, termsOf(body))) === 'created';
    reply.status(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return this.#shown(id);
  }

  @Delete(':id')
  @ApiOperation({
    summary: 'Remove a tenant',
    description:
      'Removes a tenant without API keys; revoke its keys first. The tokens of the tenant are refused within a ' +
      'second. Its data stay, and belong to a tenant that is later created with the same id.',
  })
  @AnswersNothing('The tenant does not exist any more.')
  @Problems('invalid-id', 'tenant-in-use')
  async removeTenant(@Param('id', { schema: tenantId }) id: string): Promise<void> {
    requireOther(id);
    await this.store.remove(id);
  }

  @Get()
  @ApiOperation({
    summary: 'List the tenants',
    description: 'Lists the tenants by their ids, without `default`.',
  })
  @Answers(tenantsPage, 'A page of tenants.')
  @Problems('invalid-query', 'invalid-cursor')
  async listTenants(
    @Query({ schema: tenantsQuery }) { cursor, limit }: z.infer<typeof tenantsQuery>,
  ): Promise<z.infer<typeof tenantsPage>> {
    const { ids, records } = await this.store.list(limit, readCursor(LIST, cursor));
    const { items, nextCursor } = pageOf(LIST, ids, records, limit);
    // One may be removed meanwhile.
    const there = items.filter((record) => record !== undefined);
    return { items: await Promise.all(there.map((record) => this.#withUsage(record))), nextCursor };
  }

  @Get(':id')
  @ApiOperation({ summary: 'Look at a tenant' })
  @Answers(tenantSchema, 'The tenant.')
  @Problems('invalid-id', 'unknown-tenant')
  async tenant(@Param('id', { schema: tenantId }) id: string): Promise<ShownTenant> {
    return this.#shown(id);
  }

  async #shown(id: string): Promise<ShownTenant> {
    const record = await this.store.read(id);
    if (!record) throw new Problem('unknown-tenant', undefined, { tenant: id });
    return this.#withUsage(record);
  }

  async #withUsage(record: TenantRecord): Promise<ShownTenant> {
    return { ...record, usage: await this.usage.of(record.id, record.quotas) };
  }
}

/** Without the quotas that are undefined. */
function termsOf({ quotas, ...terms }: z.infer<typeof putTenantBody>): TenantTerms {
  return { ...terms, quotas: JSON.parse(JSON.stringify(quotas)) as QuotaValues };
}

function requireOther(id: string): void {
  if (id === DEFAULT_TENANT)
    throw new Problem('invalid-id', 'is the tenant of the deployment', { parameter: 'id' });
}
