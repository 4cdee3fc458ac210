import { Controller, Get, Param } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Problems } from '../http/problems.decorator.js';
import { RowCaches } from './row-caches.js';
import { cachedTableSchema, cachedTablesSchema, tableNameSchema } from './schemas.js';

@ApiTags('cache')
@Controller('v1/cache')
export class TablesController {
  constructor(private readonly tables: RowCaches) {}

  @Get()
  @ApiOperation({
    summary: 'List the tables whose rows are cached',
    description: 'Lists the tables of the settings, in numbers.',
  })
  @Answers(cachedTablesSchema, 'The tables.')
  @Problems()
  async listCachedTables(): Promise<z.infer<typeof cachedTablesSchema>> {
    return { items: await this.tables.stats() };
  }

  @Get(':table')
  @ApiOperation({
    summary: 'Look at a table',
    description: "Reads counts of the table's schedule. Changes nothing.",
  })
  @Answers(cachedTableSchema, 'The table.')
  @Problems('invalid-id', 'unknown-table')
  async cachedTable(
    @Param('table', { schema: tableNameSchema }) table: string,
  ): Promise<z.infer<typeof cachedTableSchema>> {
    return { table, ...(await this.tables.of(table).stats()) };
  }
}
