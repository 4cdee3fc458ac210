/** Single files: their content, acks, and how to get rid of one. */
import { Body, Controller, Delete, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FileChannel } from '@mortise/messaging/files';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import { requireScope } from '../callers/principal.js';
import type { Config } from '../config.js';
import { Answers, AnswersNothing } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { headerRefs } from '../http/response-headers.js';
import { waitOfQuery } from '../http/wait-of.js';
import { Problem } from '../problems/problem.js';
import { CONFIG } from '../tokens.js';
import { CHANNEL_OPTIONS } from './channel-options.js';
import { Downloads } from './downloads.js';
import type { FileId } from './file-id.js';
import { fileIdSchema, refOf } from './file-id.js';
import { ackBody, contentQuery, fileQuery, fileSchema } from './schemas.js';
import { shown } from './shown.js';
import { TenantFiles } from './tenant-files.js';

const FILE_HEADERS = ['Accept-Ranges', 'ETag', 'Repr-Digest'] as const;
const BINARY = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

@ApiTags('files')
@Controller('v1/files/:id')
export class FilesController {
  constructor(
    private readonly files: TenantFiles,
    private readonly downloads: Downloads,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'Look at a file',
    description:
      'The answer also says how far a receiver has acked the file, which is where to continue reading.',
  })
  @Answers(fileSchema, 'The file.')
  @Problems('invalid-id', 'invalid-query', 'unknown-file')
  async file(
    @Param('id', { schema: fileIdSchema }) id: FileId,
    @Query({ schema: fileQuery }) { receiver }: z.infer<typeof fileQuery>,
  ): Promise<z.infer<typeof fileSchema>> {
    const files = this.#channelOf(id);
    const file = await files.file(refOf(id));
    const ackedBytes = receiver === undefined ? undefined : await files.ackedBytes(receiver, file);
    return { ...shown(id.channel, file), ...(ackedBytes !== undefined && { ackedBytes }) };
  }

  @Get('content')
  @Waits(waitOfQuery)
  @ApiOperation({
    summary: 'Read a file',
    description:
      'Returns the whole file, also while it is being written, or a `Range`. The request moves nothing: bytes ' +
      'that are not acked can be read again. If the content breaks off, it is not the whole file: continue ' +
      'with a `Range`. `autoAck` needs the scope `messaging:write`.',
  })
  @ApiHeader({
    name: 'Range',
    required: false,
    description: 'One range of bytes. While a file is written, the range ends at the bytes that are stored.',
    schema: { type: 'string' },
    example: 'bytes=1048576-',
  })
  @ApiHeader({
    name: 'If-Range',
    required: false,
    description:
      'The ETag of the part that the caller has. If the file has changed, the answer has the whole file.',
    schema: { type: 'string' },
  })
  @ApiResponse({
    status: 200,
    description: 'The file, with its digest.',
    content: BINARY,
    headers: headerRefs([...FILE_HEADERS, 'Content-Digest']),
  })
  @ApiResponse({
    status: 206,
    description: 'The range.',
    content: BINARY,
    headers: headerRefs([...FILE_HEADERS, 'Content-Range']),
  })
  @Problems(
    'invalid-id',
    'invalid-query',
    'unknown-file',
    'unknown-receiver',
    'receiver-busy',
    'file-forgotten',
    'file-aborted',
    'file-expired',
    'range-not-satisfiable',
    'too-many-transfers',
    'shutting-down',
  )
  async fileContent(
    @Param('id', { schema: fileIdSchema }) id: FileId,
    @Query({ schema: contentQuery }) query: z.infer<typeof contentQuery>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (query.autoAck && request.principal) requireScope(request.principal, 'messaging:write');
    await this.downloads.begin({ ...id, ...query }, request, reply);
  }

  @Post('acks')
  @ApiOperation({
    summary: 'Ack the handled bytes of a file',
    description:
      'Acks a file up to a byte, or the whole file. Bytes that all receivers have acked are freed.',
  })
  @AnswersNothing('The bytes are acked. A repeated ack, or a lower one, changes nothing.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-file', 'unknown-receiver', 'receiver-busy')
  async ackFile(
    @Param('id', { schema: fileIdSchema }) id: FileId,
    @Body({ schema: ackBody }) { receiver, upTo }: z.infer<typeof ackBody>,
  ): Promise<void> {
    const files = this.#channelOf(id);
    if (upTo === undefined) await files.done(receiver, refOf(id));
    else await files.ack(receiver, refOf(id), upTo).catch(refuseOffset);
  }

  @Delete()
  @ApiOperation({
    summary: 'Take a file away',
    description:
      'Removes the file for all receivers. A running upload of the file ends. A repeated request gets ' +
      '`unknown-file`.',
  })
  @AnswersNothing('The file is removed.')
  @Problems('invalid-id', 'unknown-file')
  async removeFile(@Param('id', { schema: fileIdSchema }) id: FileId): Promise<void> {
    await this.#channelOf(id).remove(refOf(id));
  }

  #channelOf({ channel }: FileId): FileChannel {
    return this.files.current.channel(channel, { ...CHANNEL_OPTIONS, keepMs: this.config.FILE_TTL_MS });
  }
}

function refuseOffset(error: unknown): never {
  if (!(error instanceof RangeError) || !error.message.startsWith('upTo ')) throw error;
  const errors = [{ pointer: '/upTo', message: 'is beyond what is written of the file' }];
  throw new Problem('invalid-body', undefined, { errors }, { cause: error });
}
