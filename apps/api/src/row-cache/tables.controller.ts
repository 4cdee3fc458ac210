import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { Answers } from '../http/answers.js';
import { Problems } from '../http/problems.decorator.js';
import { refuseMisuse } from '../queues/misuse.js';
import { RowCaches } from './row-caches.js';
import {
  cachedTableSchema,
  cachedTablesSchema,
  listRowsQuery,
  rowsPage,
  tableNameSchema,
} from './schemas.js';

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

  @Get(':table/rows')
  @ApiOperation({
    summary: 'List the scheduled rows of a table',
    description:
      'With their intervals, their lag and their last errors, in no order, and without their values. Go on until `nextCursor` is null. ' +
      'Changes nothing, and is as fast for a large table.',
  })
  @Answers(rowsPage, 'A page of rows.')
  @Problems('invalid-id', 'invalid-query', 'invalid-cursor', 'unknown-table')
  async listCachedRows(
    @Param('table', { schema: tableNameSchema }) table: string,
    @Query({ schema: listRowsQuery }) { cursor, limit, isFailing }: z.infer<typeof listRowsQuery>,
  ): Promise<z.infer<typeof rowsPage>> {
    const rows = this.tables.of(table);
    const options = { limit, failing: isFailing, ...(cursor !== undefined && { cursor }) };
    const page = await rows.list(options).catch(refuseMisuse);
    const items = page.rows.map(({ everyMs: refreshMs, ...row }) => ({ ...row, refreshMs }));
    return { items, nextCursor: page.cursor };
  }
}
