/** Channels of files: receivers, listed files, uploads. */
import {
  Controller,
  Delete,
  Get,
  Headers,
  HttpStatus,
  Inject,
  Post,
  Put,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiConsumes, ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FileChannel } from '@mortise/messaging/files';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import type { Config } from '../config.js';
import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import type { BodyConfig } from '../http/body-config.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Name } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { OpenWaits } from '../limits/open-waits.js';
import { Problems } from '../http/problems.decorator.js';
import { waitOfQuery } from '../http/wait-of.js';
import { CONFIG } from '../tokens.js';
import { AbandonedFiles } from './abandoned-files.js';
import { CHANNEL_OPTIONS } from './channel-options.js';
import { parseDigest } from './content-digest.js';
import { formatFileId } from './file-id.js';
import {
  channelSchema,
  channelStatusQuery,
  filesSchema,
  joinedChannelSchema,
  listQuery,
  receiversSchema,
  uploadedSchema,
  uploadQuery,
} from './schemas.js';
import { shown, shownChannel } from './shown.js';
import { TenantFiles } from './tenant-files.js';
import { NO_DEADLINE_MS } from './transfers.js';
import { Uploads } from './uploads.js';

const STREAM: BodyConfig = { takesStream: true };

@ApiTags('files')
@Controller('v1/file-channels/:channel')
export class FileChannelsController {
  constructor(
    private readonly files: TenantFiles,
    private readonly uploads: Uploads,
    private readonly waits: OpenWaits,
    private readonly abandoned: AbandonedFiles,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'Look at a channel',
    description:
      'Returns the bytes of the channel in Redis, its receivers, and its files with the receivers that each ' +
      'waits for. The request disturbs no receiver. A channel that does not exist is empty.',
  })
  @Answers(channelSchema, 'The channel, with a page of its files.')
  @Problems('invalid-id', 'invalid-query')
  async channelStatus(
    @Name('channel') channel: string,
    @Query({ schema: channelStatusQuery }) query: z.infer<typeof channelStatusQuery>,
  ): Promise<z.infer<typeof channelSchema>> {
    return shownChannel(channel, await this.#of(channel).status(query));
  }

  @Post('files')
  @RouteConfig(STREAM)
  @Waits(() => NO_DEADLINE_MS)
  @ApiOperation({
    summary: 'Send a file to the receivers of a channel',
    description:
      'The body is the file. Receivers can read the file while it arrives. The API accepts it as fast as the ' +
      'slowest receiver reads.',
  })
  @ApiConsumes('application/octet-stream')
  @ApiBody({ required: true, schema: { type: 'string', format: 'binary' } })
  @ApiHeader({
    name: 'Content-Digest',
    required: false,
    description: 'The SHA-256 of the body, as in RFC 9530. A file with another digest is given up.',
    schema: { type: 'string' },
  })
  @TakesIdempotencyKey(
    'Becomes the id of the file. The same upload again continues where it broke off, or sends nothing. An ' +
      'upload with another name or digest is refused.',
  )
  @Creates(uploadedSchema, 'The whole file is in the channel.', 'The file was sent before.', 'Location')
  @Problems(
    'invalid-id',
    'invalid-query',
    'invalid-idempotency-key',
    'invalid-digest',
    'malformed-request',
    'request-timeout',
    'body-too-large',
    'unsupported-media-type',
    'no-receivers',
    'receivers-differ',
    'channel-ended',
    'file-aborted',
    'lease-lost',
    'file-forgotten',
    'upload-running',
    'request-reused',
    'digest-mismatch',
    'source-changed',
    'budget-exhausted',
    'too-many-transfers',
    'shutting-down',
  )
  async uploadFile(
    @Name('channel') channel: string,
    @Query({ schema: uploadQuery }) { name }: z.infer<typeof uploadQuery>,
    @IdempotencyKey() key: string | undefined,
    @Headers('content-digest') digest: string | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof uploadedSchema>> {
    const upload = { channel, name, key, sha256: parseDigest(digest) };
    const sent = await this.uploads.run(upload, request, reply);
    const { number, epoch, isDuplicate, bytes, sha256, resumedAt } = sent;
    const id = formatFileId({ channel, epoch, number });
    reply.status(isDuplicate ? HttpStatus.OK : HttpStatus.CREATED);
    reply.header('location', `/v1/files/${encodeURIComponent(id).replaceAll('%3A', ':')}`);
    return { id, number, name, isDuplicate, ...(!isDuplicate && { bytes, sha256, resumedAt }) };
  }

  @Get('files')
  @Waits(waitOfQuery)
  @ApiOperation({
    summary: 'List the files that a receiver is not done with, or wait for one',
    description: 'The request moves nothing: files come again until the receiver is done with them.',
  })
  @Answers(filesSchema, 'The files, or none if none came in time.')
  @Problems(
    'invalid-id',
    'invalid-query',
    'unknown-receiver',
    'receiver-busy',
    'too-many-waits',
    'quota-exceeded',
    'shutting-down',
  )
  async listFiles(
    @Name('channel') channel: string,
    @Query({ schema: listQuery }) { receiver, after, limit, waitMs }: z.infer<typeof listQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof filesSchema>> {
    await this.abandoned.look(channel);
    const { files, isEnded } = await this.waits.run(reply, waitMs, async (signal) =>
      this.#of(channel).list(receiver, { after, limit, waitMs, signal }),
    );
    return { items: files.map((file) => shown(channel, file)), isEnded };
  }

  @Post('end')
  @ApiOperation({
    summary: 'End a channel',
    description:
      'The channel takes no more files. Sent files are still delivered; then the channel is deleted.',
  })
  @AnswersNothing('The channel has ended.')
  @Problems('invalid-id')
  async endChannel(@Name('channel') channel: string): Promise<void> {
    await this.#of(channel).end();
  }

  @Get('receivers')
  @ApiOperation({ summary: 'List the receivers of a channel' })
  @Answers(receiversSchema, 'The receivers.')
  @Problems('invalid-id')
  async listReceivers(@Name('channel') channel: string): Promise<z.infer<typeof receiversSchema>> {
    return { items: await this.#of(channel).receivers() };
  }

  @Put('receivers/:receiver')
  @ApiOperation({
    summary: 'Become a receiver of a channel',
    description:
      'The receiver gets every file that is sent from then on. A file is deleted when all receivers are done ' +
      'with it.',
  })
  @Creates(
    joinedChannelSchema,
    'The receiver is added.',
    'The receiver existed; also for a repeated request.',
  )
  @Problems('invalid-id', 'channel-ended', 'too-many-receivers')
  async joinChannel(
    @Name('channel') channel: string,
    @Name('receiver') receiver: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof joinedChannelSchema>> {
    const isNew = await this.#of(channel).join(receiver);
    reply.status(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return { receiver, isNew };
  }

  @Delete('receivers/:receiver')
  @ApiOperation({
    summary: 'Leave a channel',
    description:
      'Nothing waits for the receiver any more. Bytes that only this receiver had not read are freed.',
  })
  @AnswersNothing('The receiver is removed.')
  @Problems('invalid-id')
  async leaveChannel(@Name('channel') channel: string, @Name('receiver') receiver: string): Promise<void> {
    await this.#of(channel).leave(receiver);
  }

  #of(channel: string): FileChannel {
    return this.files.current.channel(channel, { ...CHANNEL_OPTIONS, keepMs: this.config.FILE_TTL_MS });
  }
}
