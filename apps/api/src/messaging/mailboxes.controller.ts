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
  Query,
  Res,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { Mailboxes } from '@mortise/messaging';
import type { MailboxStatus, Message, SendResult } from '@mortise/messaging';
import { InjectMailboxes } from '@mortise/messaging/nestjs';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Waits } from '../http/deadline.interceptor.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { OpenWaits } from '../http/open-waits.js';
import { Problems } from '../http/problems.decorator.js';
import { waitOfQuery } from '../http/wait-of.js';
import { LARGE_MESSAGE } from './message-limit.js';
import {
  ackedSchema,
  addDeviceBody,
  addedDeviceSchema,
  blockedSchema,
  deviceQuery,
  devicesSchema,
  mailboxAckBody,
  mailboxMessagesSchema,
  mailboxSchema,
  receiveQuery,
  sendBody,
} from './mailbox-schemas.js';
import { nameSchema, sentSchema } from './schemas.js';
import { senderIdOf } from './sender-id.js';

const BODY_PROBLEMS = ['invalid-body', 'malformed-json', 'body-too-large', 'unsupported-media-type'] as const;

@ApiTags('mailboxes')
@Controller('v1/mailboxes/:recipient')
export class MailboxesController {
  constructor(
    @InjectMailboxes() private readonly mailboxes: Mailboxes,
    private readonly waits: OpenWaits,
  ) {}

  @Post('messages')
  @RouteConfig(LARGE_MESSAGE)
  @ApiOperation({
    summary: 'Send a message to a recipient',
    description: 'The first message creates the mailbox, which keeps each message until it is acked.',
  })
  @TakesIdempotencyKey(
    'Becomes the id of the message: repeating the request within 10 minutes sends nothing.',
  )
  @ApiResponse({ status: 200, standardSchema: sentSchema, description: 'It was sent before.' })
  @ApiResponse({ status: 201, standardSchema: sentSchema, description: 'It is in the mailbox.' })
  @Problems('invalid-id', 'invalid-idempotency-key', ...BODY_PROBLEMS, 'sender-blocked')
  async sendMessage(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Body({ schema: sendBody }) { from, body, id, ttlMs }: z.infer<typeof sendBody>,
    @IdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SendResult> {
    const options = { from, ...senderIdOf(id, key), ...(ttlMs !== undefined && { ttlMs }) };
    const result = await this.mailboxes.send(recipient, body, options);
    reply.status(result.isDuplicate ? HttpStatus.OK : HttpStatus.CREATED);
    return result;
  }

  @Get('messages')
  @Waits(waitOfQuery)
  @ApiOperation({
    summary: 'Read messages, or wait for one',
    description: 'Moves no cursor: messages come again until they are acked.',
  })
  @ApiResponse({
    status: 200,
    standardSchema: mailboxMessagesSchema,
    description: 'The messages; none when none came in time.',
  })
  @Problems('invalid-id', 'invalid-query', 'unknown-device', 'too-many-waits', 'shutting-down')
  async receiveMessages(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Query({ schema: receiveQuery }) query: z.infer<typeof receiveQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ items: Message[] }> {
    const items = await this.waits.run(reply, query.waitMs, async (signal) =>
      this.mailboxes.receive(recipient, { ...query, signal }),
    );
    return { items };
  }

  @Delete('messages')
  @ApiOperation({
    summary: 'Ack all messages of a device',
    description: 'A repeated request acks none, so its `acked` is 0.',
  })
  @ApiResponse({ status: 200, standardSchema: ackedSchema, description: 'They are acked.' })
  @Problems('invalid-id', 'invalid-query', 'unknown-device')
  async clearMailbox(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Query({ schema: deviceQuery }) query: z.infer<typeof deviceQuery>,
  ): Promise<z.infer<typeof ackedSchema>> {
    return { acked: await this.mailboxes.clear(recipient, query) };
  }

  @Post('ack')
  @HttpCode(HttpStatus.OK)
  @ApiOperation({
    summary: 'Ack messages',
    description:
      'Messages that all devices have acked are freed. A repeated request, or a lower id, acks none.',
  })
  @ApiResponse({ status: 200, standardSchema: ackedSchema, description: 'They are acked.' })
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-message', 'unknown-device')
  async ackMessages(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Body({ schema: mailboxAckBody }) { upToId, device }: z.infer<typeof mailboxAckBody>,
  ): Promise<z.infer<typeof ackedSchema>> {
    return { acked: await this.mailboxes.ack(recipient, upToId, { device }) };
  }

  @Get()
  @ApiOperation({
    summary: 'Look at a mailbox',
    description: 'Also for senders, who see when the recipient last received.',
  })
  @ApiResponse({ status: 200, standardSchema: mailboxSchema, description: 'The statistics of the mailbox.' })
  @Problems('invalid-id')
  async mailbox(@Param('recipient', { schema: nameSchema }) recipient: string): Promise<MailboxStatus> {
    return this.mailboxes.status(recipient);
  }

  @Get('devices')
  @ApiOperation({ summary: 'List the devices of a recipient', description: 'The slowest first.' })
  @ApiResponse({ status: 200, standardSchema: devicesSchema, description: 'The devices.' })
  @Problems('invalid-id')
  async devices(
    @Param('recipient', { schema: nameSchema }) recipient: string,
  ): Promise<{ items: MailboxStatus['devices'] }> {
    return { items: await this.mailboxes.devices(recipient) };
  }

  @Put('devices/:device')
  @ApiOperation({
    summary: 'Give a recipient one more device',
    description:
      'A mailbox begins with the device `main`, unless another one is added first. Messages are kept until all devices have acked them.',
  })
  @ApiResponse({
    status: 200,
    standardSchema: addedDeviceSchema,
    description: 'It was there already, and is unchanged; also for a repeated request.',
  })
  @ApiResponse({ status: 201, standardSchema: addedDeviceSchema, description: 'It is added.' })
  @Problems('invalid-id', ...BODY_PROBLEMS, 'too-many-devices')
  async addDevice(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Param('device', { schema: nameSchema }) device: string,
    @Body({ schema: addDeviceBody }) body: z.infer<typeof addDeviceBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof addedDeviceSchema>> {
    const { isNew, ackedId } = await this.mailboxes.addDevice(recipient, device, body);
    reply.status(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return { device, isNew, ackedId };
  }

  @Delete('devices/:device')
  @HttpCode(HttpStatus.NO_CONTENT)
  @ApiOperation({
    summary: 'Take a device away',
    description: 'Messages that only it had not acked are freed.',
  })
  @ApiResponse({ status: 204, description: 'It is removed.' })
  @Problems('invalid-id')
  async removeDevice(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Param('device', { schema: nameSchema }) device: string,
  ): Promise<void> {
    await this.mailboxes.removeDevice(recipient, device);
  }

  @Get('blocked-senders')
  @ApiOperation({ summary: 'List whom a recipient has blocked' })
  @ApiResponse({ status: 200, standardSchema: blockedSchema, description: 'The senders, sorted.' })
  @Problems('invalid-id')
  async blockedSenders(
    @Param('recipient', { schema: nameSchema }) recipient: string,
  ): Promise<z.infer<typeof blockedSchema>> {
    const senders = await this.mailboxes.blocked(recipient);
    return { items: senders.map((sender) => ({ sender })) };
  }

  @Put('blocked-senders/:sender')
  @HttpCode(HttpStatus.NO_CONTENT)
  @ApiOperation({ summary: 'Block a sender', description: 'Stored messages stay.' })
  @ApiResponse({ status: 204, description: 'They are blocked.' })
  @Problems('invalid-id', 'too-many-blocked')
  async blockSender(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Param('sender', { schema: nameSchema }) sender: string,
  ): Promise<void> {
    await this.mailboxes.block(recipient, sender);
  }

  @Delete('blocked-senders/:sender')
  @HttpCode(HttpStatus.NO_CONTENT)
  @ApiOperation({ summary: 'Unblock a sender' })
  @ApiResponse({ status: 204, description: 'They are not blocked any more.' })
  @Problems('invalid-id')
  async unblockSender(
    @Param('recipient', { schema: nameSchema }) recipient: string,
    @Param('sender', { schema: nameSchema }) sender: string,
  ): Promise<void> {
    await this.mailboxes.unblock(recipient, sender);
  }
}
