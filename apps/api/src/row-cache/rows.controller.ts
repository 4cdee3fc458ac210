import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Param,
  Post,
  Put,
  Req,
  Res,
} from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { RowState } from '@mortise/cache/rows';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import { Redaction } from '../callers/redaction.js';
import { Answers, AnswersNothing } from '../http/answers.js';
import { IfNoneMatch, isKnown, TakesIfNoneMatch } from '../http/entity-tags.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { headerRefs } from '../http/response-headers.js';
import { Problem } from '../problems/problem.js';
import { RowCaches } from './row-caches.js';
import { rowIdSchema, scheduleBody, scheduledRowSchema, tableNameSchema } from './schemas.js';

const SECOND_MS = 1_000;
const ROW_HEADERS = headerRefs(['ETag', 'Age', 'X-Next-Refresh', 'X-Refresh-Failures']);

@ApiTags('cache')
@Controller('v1/cache/:table/rows/:row')
export class RowsController {
  constructor(
    private readonly tables: RowCaches,
    private readonly redaction: Redaction,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'Read a row',
    description:
      'Returns the row as it was last loaded, without a query to the database. `ETag` is that of the row. ' +
      '`Age` is the time, in seconds, for which the row may have differed from the database. `X-Next-Refresh` ' +
      'is the time until the next load, in seconds. While the database is down, the row stays, and gets older.',
  })
  @TakesIfNoneMatch('The ETag of the row that the caller has. An unchanged row is not sent again.')
  @ApiResponse({
    status: 200,
    description: 'The row, a document of the table.',
    content: { 'application/json': { schema: {} } },
    headers: ROW_HEADERS,
  })
  @ApiResponse({ status: 304, description: 'The caller has the row already.', headers: ROW_HEADERS })
  @Problems('invalid-id', 'unknown-table', 'not-scheduled', 'unknown-row', 'source-failed', 'not-loaded')
  async cachedRow(
    @Param('table', { schema: tableNameSchema }) table: string,
    @Param('row', { schema: rowIdSchema }) id: string,
    @IfNoneMatch() known: readonly string[],
    @Req() { principal }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const state = scheduled(await this.tables.of(table).inspect(id), table, id);
    const etag = `"${present(state, table, id)}"`;
    reply
      .header('etag', etag)
      .header('age', Math.floor(state.ageMs! / SECOND_MS))
      .header('x-next-refresh', state.nextInMs / SECOND_MS)
      // A client may keep a copy, but has to revalidate it. That of a session may have less than the row.
      .header('cache-control', principal?.isSession ? 'no-store' : 'no-cache');
    if (state.failures > 0) reply.header('x-refresh-failures', state.failures);
    if (isKnown(known, etag)) await reply.code(HttpStatus.NOT_MODIFIED).send();
    else
      await reply.type('application/json').send(JSON.stringify(this.redaction.shown(state.row, principal)));
  }

  @Put()
  @ApiOperation({
    summary: 'Keep a row fresh',
    description:
      'Loads the row at once, and from then on each `refreshMs`. A row that already has this schedule is left ' +
      'as it is. Repeating the request is safe.',
  })
  @Answers(scheduledRowSchema, 'The row is scheduled.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-table', 'not-scheduled')
  async scheduleRow(
    @Param('table', { schema: tableNameSchema }) table: string,
    @Param('row', { schema: rowIdSchema }) id: string,
    @Body({ schema: scheduleBody }) { refreshMs }: z.infer<typeof scheduleBody>,
  ): Promise<z.infer<typeof scheduledRowSchema>> {
    const rows = this.tables.of(table);
    await rows.schedule(id, { everyMs: refreshMs });
    const { everyMs, nextInMs, ageMs, failures } = scheduled(await rows.inspect(id), table, id);
    return { table, id, refreshMs: everyMs, nextInMs, ageMs, failures };
  }

  @Post('refresh')
  @HttpCode(HttpStatus.ACCEPTED)
  @ApiOperation({
    summary: 'Have a row loaded now',
    description:
      'Use it, for example, after a change in the database. The result of a load that began before is not ' +
      'stored. The answer comes before the row is loaded.',
  })
  @ApiResponse({ status: 202, description: 'The row is due.' })
  @Problems('invalid-id', 'unknown-table', 'not-scheduled')
  async refreshRow(
    @Param('table', { schema: tableNameSchema }) table: string,
    @Param('row', { schema: rowIdSchema }) id: string,
  ): Promise<void> {
    if (!(await this.tables.of(table).refresh(id))) throw notScheduled(table, id);
  }

  @Delete()
  @ApiOperation({
    summary: 'Take a row out of cache and schedule',
    description: 'A load that is under way does not bring the row back. Repeating the request is safe.',
  })
  @AnswersNothing('The row is removed.')
  @Problems('invalid-id', 'unknown-table')
  async unscheduleRow(
    @Param('table', { schema: tableNameSchema }) table: string,
    @Param('row', { schema: rowIdSchema }) id: string,
  ): Promise<void> {
    await this.tables.of(table).unschedule(id);
  }
}

interface Scheduled extends RowState<unknown> {
  readonly everyMs: number;
  readonly nextInMs: number;
}

/** Throws the problem `not-scheduled`. */
function scheduled(state: RowState<unknown> | null, table: string, id: string): Scheduled {
  if (state === null || state.everyMs === null || state.nextInMs === null) throw notScheduled(table, id);
  return state as Scheduled;
}

/** The etag of the row. Throws the problem that says why there is no row. */
function present({ etag, ageMs, failures }: Scheduled, table: string, id: string): string {
  if (etag !== null) return etag;
  const row = { table, id };
  if (ageMs !== null) throw new Problem('unknown-row', `"${table}" has no row "${id}"`, row);
  if (failures > 0) throw new Problem('source-failed', `row "${id}" was never loaded`, { ...row, failures });
  throw new Problem('not-loaded', `row "${id}" is being loaded`, row);
}

function notScheduled(table: string, id: string): Problem {
  return new Problem('not-scheduled', `row "${id}" of "${table}" is not scheduled`, { table, id });
}
