import { Body, Controller, Delete, Get, HttpStatus, Post, Put, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { MailboxStatus, Message, SendResult } from '@mortise/messaging';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Name } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { OpenWaits } from '../limits/open-waits.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { senderIdOf } from '../http/sender-id.js';
import { waitOfQuery } from '../http/wait-of.js';
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
import { LARGE_MESSAGE } from './message-limit.js';
import { sentSchema } from './schemas.js';
import { TenantMailboxes } from './tenant-messaging.js';

@ApiTags('mailboxes')
@Controller('v1/mailboxes/:recipient')
export class MailboxesController {
  constructor(
    private readonly mailboxes: TenantMailboxes,
    private readonly waits: OpenWaits,
  ) {}

  @Post('messages')
  @RouteConfig(LARGE_MESSAGE)
  @ApiOperation({
    summary: 'Send a message to a recipient',
    description: 'The first message creates the mailbox. The mailbox keeps each message until it is acked.',
  })
  @TakesIdempotencyKey(
    'Becomes the id of the message: repeating the request within 10 minutes sends nothing.',
  )
  @Creates(sentSchema, 'The message is in the mailbox.', 'The message was sent before.')
  @Problems('invalid-id', 'invalid-idempotency-key', ...BODY_PROBLEMS, 'sender-blocked')
  async sendMessage(
    @Name('recipient') recipient: string,
    @Body({ schema: sendBody }) { from, body, id, ttlMs }: z.infer<typeof sendBody>,
    @IdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SendResult> {
    const options = { from, ...senderIdOf(id, key), ...(ttlMs !== undefined && { ttlMs }) };
    const result = await this.mailboxes.current.send(recipient, body, options);
    reply.status(result.isDuplicate ? HttpStatus.OK : HttpStatus.CREATED);
    return result;
  }

  @Get('messages')
  @Waits(waitOfQuery)
  @ApiOperation({
    summary: 'Read messages, or wait for one',
    description: 'The request moves no cursor: messages come again until they are acked.',
  })
  @Answers(mailboxMessagesSchema, 'The messages, or none if none came in time.')
  @Problems(
    'invalid-id',
    'invalid-query',
    'unknown-device',
    'too-many-waits',
    'quota-exceeded',
    'shutting-down',
  )
  async receiveMessages(
    @Name('recipient') recipient: string,
    @Query({ schema: receiveQuery }) query: z.infer<typeof receiveQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ items: Message[] }> {
    const items = await this.waits.run(reply, query.waitMs, async (signal) =>
      this.mailboxes.current.receive(recipient, { ...query, signal }),
    );
    return { items };
  }

  @Delete('messages')
  @ApiOperation({
    summary: 'Ack all messages of a device',
    description: 'A repeated request acks none, so its `acked` is 0.',
  })
  @Answers(ackedSchema, 'The messages are acked.')
  @Problems('invalid-id', 'invalid-query', 'unknown-device')
  async clearMailbox(
    @Name('recipient') recipient: string,
    @Query({ schema: deviceQuery }) query: z.infer<typeof deviceQuery>,
  ): Promise<z.infer<typeof ackedSchema>> {
    return { acked: await this.mailboxes.current.clear(recipient, query) };
  }

  @Post('ack')
  @ApiOperation({
    summary: 'Ack messages',
    description:
      'Messages that all devices have acked are freed. A repeated request, or a lower id, acks none.',
  })
  @Answers(ackedSchema, 'The messages are acked.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-message', 'unknown-device')
  async ackMessages(
    @Name('recipient') recipient: string,
    @Body({ schema: mailboxAckBody }) { upToId, device }: z.infer<typeof mailboxAckBody>,
  ): Promise<z.infer<typeof ackedSchema>> {
    return { acked: await this.mailboxes.current.ack(recipient, upToId, { device }) };
  }

  @Get()
  @ApiOperation({
    summary: 'Look at a mailbox',
    description: 'Senders may use this to see when the recipient last received.',
  })
  @Answers(mailboxSchema, 'The statistics of the mailbox.')
  @Problems('invalid-id')
  async mailbox(@Name('recipient') recipient: string): Promise<MailboxStatus> {
    return this.mailboxes.current.status(recipient);
  }

  @Get('devices')
  @ApiOperation({ summary: 'List the devices of a recipient', description: 'The slowest first.' })
  @Answers(devicesSchema, 'The devices.')
  @Problems('invalid-id')
  async devices(@Name('recipient') recipient: string): Promise<{ items: MailboxStatus['devices'] }> {
    return { items: await this.mailboxes.current.devices(recipient) };
  }

  @Put('devices/:device')
  @ApiOperation({
    summary: 'Give a recipient one more device',
    description:
      'A mailbox begins with the device `main`, unless another one is added first. Messages are kept until all devices have acked them.',
  })
  @Creates(
    addedDeviceSchema,
    'The device is added.',
    'The device existed, and is unchanged; also for a repeated request.',
  )
  @Problems('invalid-id', ...BODY_PROBLEMS, 'too-many-devices')
  async addDevice(
    @Name('recipient') recipient: string,
    @Name('device') device: string,
    @Body({ schema: addDeviceBody }) body: z.infer<typeof addDeviceBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof addedDeviceSchema>> {
    const { isNew, ackedId } = await this.mailboxes.current.addDevice(recipient, device, body);
    reply.status(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return { device, isNew, ackedId };
  }

  @Delete('devices/:device')
  @ApiOperation({
    summary: 'Take a device away',
    description: 'Messages that only this device had not acked are freed.',
  })
  @AnswersNothing('It is removed.')
  @Problems('invalid-id')
  async removeDevice(@Name('recipient') recipient: string, @Name('device') device: string): Promise<void> {
    await this.mailboxes.current.removeDevice(recipient, device);
  }

  @Get('blocked-senders')
  @ApiOperation({ summary: 'List whom a recipient has blocked' })
  @Answers(blockedSchema, 'Lists the blocked senders, sorted.')
  @Problems('invalid-id')
  async blockedSenders(@Name('recipient') recipient: string): Promise<z.infer<typeof blockedSchema>> {
    const senders = await this.mailboxes.current.blocked(recipient);
    return { items: senders.map((sender) => ({ sender })) };
  }

  @Put('blocked-senders/:sender')
  @ApiOperation({ summary: 'Block a sender', description: 'Stored messages stay.' })
  @AnswersNothing('The sender is blocked.')
  @Problems('invalid-id', 'too-many-blocked')
  async blockSender(@Name('recipient') recipient: string, @Name('sender') sender: string): Promise<void> {
    await this.mailboxes.current.block(recipient, sender);
  }

  @Delete('blocked-senders/:sender')
  @ApiOperation({ summary: 'Unblock a sender' })
  @AnswersNothing('The sender is not blocked any more.')
  @Problems('invalid-id')
  async unblockSender(@Name('recipient') recipient: string, @Name('sender') sender: string): Promise<void> {
    await this.mailboxes.current.unblock(recipient, sender);
  }
}
