import type { Socket } from 'node:net';

import type { Chats } from '@mortise/messaging';
import type { RequestSpan } from '@mortise/app-common/tracing';
import type { Logger } from 'pino';
import type { RawData, WebSocket } from 'ws';

import type { Principal } from '../callers/principal.js';
import { requireScope, requireSubject } from '../callers/principal.js';
import { SUBSCRIBE_SCOPE } from '../callers/route-scopes.js';
import type { RequestLimits } from '../limits/request-limits.js';
import type { Usage } from '../limits/usage.js';
import { problemOf } from '../problems/problem-of.js';
import { Problem } from '../problems/problem.js';
import { closeTimeoutMs } from '../messaging/live/close-timeout.js';
import { FollowedTopics } from './followed-topics.js';
import type { Frame, Ref, SentEvent, ServerFrame } from './frames.js';
import { checkFrame, parseFrame, refOf, verbOf } from './frames.js';
import type { EndReason, LiveStream } from '../messaging/live/live-streams.js';
import { openEvents } from '../messaging/live/open-events.js';
import { ClientTimeout, STEP_BYTES } from '../messaging/live/client-timeout.js';
import type { Outlet } from '../messaging/live/forward-events.js';
import type { TopicEvents } from './topic-events.js';
import type { Topic } from './topics.js';
import { forwardEvents, HIGH_WATER_BYTES } from '../messaging/live/forward-events.js';

export interface SessionContext {
  /** The connection of the frames. */
  readonly connection: Pick<Socket, 'bytesRead'>;
  readonly chats: Chats;
  readonly topics: TopicEvents;
  /** Whose session it is. */
  readonly principal: Principal;
  /** An event as the sender of the request may see it. */
  readonly shown: (event: SentEvent) => SentEvent;
  readonly limits: Pick<RequestLimits, 'take'>;
  readonly usage: Pick<Usage, 'require'>;
  /** It names the request and the tenant. */
  readonly log: Logger;
  /** How long a client may take to subscribe, or to read what was sent, ms. */
  readonly timeoutMs: number;
  /** The id of the request that became this connection. */
  readonly reqId: string;
  /** Begins the span of a frame, if traces are recorded. */
  readonly trace: (verb: string) => RequestSpan | undefined;
}

/** The most unread answers of a client that sends and doesn't read. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** The most frames in progress; with more the connection isn't read. */
const MAX_UNDER_WAY = 64;
/** The most invalid frames in a row; a client that sends more is not one of this API. */
const MAX_INVALID = 3;
/** The most unconfirmed frames; with more the client gets no further events. */
const WINDOW_BYTES = 4 * STEP_BYTES;
/**
 * How often in a row the timeout restarts for a client that sends but answers no ping: its answers may be queued behind its
 * own frames. A client that sends and never reads is dropped in the end.
 */
const MAX_RENEWALS = 32;

/** The status of a frame that is not answered by a problem. */
const OK = 200;
const POLICY = 1_008;
const CLOSING: Readonly<Record<EndReason, readonly [code: number, reason: string]>> = {
  'too-slow': [1_013, 'too slow: resume with your last token'],
  'redis-unavailable': [1_013, 'redis is unavailable: resume with your last token'],
  'internal-error': [1_011, 'the server failed: resume with your last token'],
  revoked: [POLICY, 'the credential is no longer valid'],
  'shutting-down': [1_001, 'shutting down'],
};

/**
 * A WebSocket session: of one member, of topics, or of both.
 *
 * A ping follows each `STEP_BYTES` of output. Its answer shows that the client has read them; the system would show that
 * only after a megabyte.
 */
export class SocketSession implements LiveStream, Outlet<SentEvent> {
  readonly #socket: WebSocket;
  readonly #context: SessionContext;
  readonly #closed = new AbortController();
  #idle: NodeJS.Timeout | undefined;
  #cut: NodeJS.Timeout | undefined;
  #member: string | undefined;
  readonly #followed: FollowedTopics;
  #underWay = 0;
  #invalid = 0;
  readonly #timeout: ClientTimeout;
  /** Bytes of frames: sent, sent before the last ping, and sent before the last answered ping. */
  #sentBytes = 0;
  #pingedBytes = 0;
  #takenBytes = 0;
  /** Pings without an answer: each with the bytes sent before it. */
  #pings: number[] = [];
  /** Bytes that the client had sent when the timeout began. */
  #receivedBytes = 0;
  #renewals = 0;
  /** Resolves when there is room for all that wait for it. */
  #room: Promise<void> | undefined;
  #onRoom: (() => void) | undefined;
  #isOver = false;

  constructor(socket: WebSocket, context: SessionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#timeout = new ClientTimeout(context.timeoutMs, () => this.#onStill());
    this.#followed = new FollowedTopics(context.topics, context.principal);
    this.#expectSubscription();
    socket.on('message', (data, isBinary) => void this.#receive(data, isBinary));
    socket.on('pong', (data) => this.#onPong(Number(data.toString())));
    // It closes itself: 1009 for a frame that is too large, 1002 or 1007 for an invalid frame or text.
    socket.on('error', (err) => context.log.debug({ err }, 'socket'));
    socket.once('close', () => {
      this.#leave();
      clearTimeout(this.#cut);
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  write(event: SentEvent): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    this.#send({ event: this.#context.shown(event) });
    if (this.#hasRoom) return undefined;
    this.#room ??= new Promise((resolve) => {
      this.#onRoom = () => {
        this.#room = this.#onRoom = undefined;
        resolve();
      };
    });
    return this.#room;
  }

  beat(): void {
    if (!this.#isOver && this.#pings.length === 0) this.#ping();
  }

  end(reason: EndReason): void {
    this.#close(...CLOSING[reason], closeTimeoutMs(reason));
  }

  /** The timeout of a client that follows nothing. */
  #expectSubscription(): void {
    if (this.#isOver || this.#member !== undefined || this.#followed.size > 0) return;
    const { timeoutMs } = this.#context;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#close(POLICY, 'nobody was subscribed to'), timeoutMs);
  }

  #close(code: number, reason: string, cutMs = closeTimeoutMs()): void {
    // It may be closing already, slower than a shutdown allows.
    clearTimeout(this.#cut);
    this.#cut = setTimeout(() => this.#socket.terminate(), cutMs);
    if (this.#isOver) return;
    this.#leave();
    this.#socket.resume();
    this.#socket.close(code, reason);
  }

  #leave(): void {
    this.#isOver = true;
    clearTimeout(this.#idle);
    this.#timeout.stop();
    this.#closed.abort();
    this.#followed.end();
    this.#onRoom?.();
  }

  async #receive(data: RawData, isBinary: boolean): Promise<void> {
    if (this.#isOver) return;
    this.#underWay += 1;
    if (this.#underWay === MAX_UNDER_WAY) this.#socket.pause();
    try {
      await this.#act(data as Buffer, isBinary);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay < MAX_UNDER_WAY && this.#socket.isPaused) this.#socket.resume();
    }
  }

  async #act(data: Buffer, isBinary: boolean): Promise<void> {
    let ref: Ref | undefined;
    let span: RequestSpan | undefined;
    try {
      const value = parseFrame(data, isBinary);
      ref = refOf(value);
      const frame = checkFrame(value);
      const { refusal } = await this.#context.limits.take(this.#context.principal);
      if (refusal) throw refusal;
      span = this.#context.trace(verbOf(frame));
      await (span ? span.run(() => this.#obey(frame)) : this.#obey(frame));
      span?.end(OK);
      this.#invalid = 0;
    } catch (error) {
      const problem = problemOf(error);
      span?.end(problem.status);
      this.#refuse(problem, ref, span?.traceId);
    }
  }

  async #obey({ subscribe, ack, typing, post, follow, unfollow, ref, ...options }: Frame): Promise<void> {
    const { chats } = this.#context;
    if (follow !== undefined) {
      await this.#follow(follow, options.after, ref);
      return;
    }
    if (unfollow !== undefined) {
      this.#followed.unfollow(unfollow);
      this.#expectSubscription();
      this.#answer({ unfollowed: unfollow.text }, ref);
      return;
    }
    if (subscribe !== undefined) {
      await this.#subscribe(subscribe, options, ref);
      return;
    }
    const member = this.#member;
    if (member === undefined) throw new Problem('invalid-frame', 'subscribe comes first');
    if (ack) {
      const { chatId, upToId, epoch } = ack;
      const ackedId = await chats.ack(chatId, member, upToId, epoch === undefined ? {} : { epoch });
      this.#answer({ acked: { chatId, ackedId } }, ref);
    } else if (typing !== undefined) {
      await chats.typing(typing, member);
      this.#answer({ typed: { chatId: typing } }, ref);
    } else if (post) {
      await this.#context.usage.require(this.#context.principal.tenant);
      const { chatId, body, id } = post;
      const result = await chats.post(chatId, member, body, id === undefined ? {} : { id });
      this.#answer({ posted: { chatId, ...result } }, ref);
    }
  }

  async #subscribe(
    member: string,
    { after, includeMuted, includeUnread }: Pick<Frame, 'after' | 'includeMuted' | 'includeUnread'>,
    ref: Ref | undefined,
  ): Promise<void> {
    if (this.#member !== undefined) throw new Problem('invalid-frame', 'it is subscribed already');
    requireScope(this.#context.principal, SUBSCRIBE_SCOPE);
    requireSubject(this.#context.principal, member);
    // At once: the frames right after this one belong to the member.
    this.#member = member;
    clearTimeout(this.#idle);
    const { signal } = this.#closed;
    try {
      const options = { signal, after, includeMuted, includeUnread };
      const events = await openEvents(this.#context.chats, member, options);
      this.#answer({ subscribed: member }, ref);
      void this.#serve(events, signal);
    } catch (error) {
      this.#member = undefined;
      this.#expectSubscription();
      throw error;
    }
  }

  async #follow(topic: Topic, after: string | undefined, ref: Ref | undefined): Promise<void> {
    clearTimeout(this.#idle);
    try {
      const { token, events, signal } = await this.#followed.follow(topic, after);
      this.#answer({ followed: topic.text, token }, ref);
      void this.#serve(events, signal);
    } catch (error) {
      this.#expectSubscription();
      throw error;
    }
  }

  /** @param signal Aborted when the events are over for the client; none is sent after that. */
  async #serve(events: AsyncIterable<SentEvent>, signal: AbortSignal): Promise<void> {
    const { log } = this.#context;
    const outlet: Outlet<SentEvent> = {
      write: (event) => (signal.aborted ? undefined : this.write(event)),
    };
    const reason = await forwardEvents(events, outlet, signal, (err) => log.error({ err }, 'events'));
    if (reason) this.end(reason);
  }

  #refuse(problem: Problem, ref: Ref | undefined, traceId: string | undefined): void {
    const { log, reqId } = this.#context;
    if (problem.status >= 500) log.error({ err: problem.cause ?? problem, traceId }, problem.slug);
    this.#answer({ error: problem.toDocument(reqId) }, ref);
    this.#invalid = problem.slug === 'invalid-frame' ? this.#invalid + 1 : 0;
    if (this.#invalid === MAX_INVALID) this.#close(POLICY, 'three frames in a row were not understood');
  }

  #answer(frame: ServerFrame, ref: Ref | undefined): void {
    if (this.#isOver) return;
    this.#send(ref === undefined ? frame : { ref, ...frame });
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) this.end('too-slow');
  }

  #send(frame: ServerFrame): void {
    const text = JSON.stringify(frame);
    this.#sentBytes += Buffer.byteLength(text);
    this.#socket.send(text, () => this.#checkRoom());
    if (this.#sentBytes - this.#pingedBytes >= STEP_BYTES) this.#ping();
  }

  #ping(): void {
    this.#pingedBytes = this.#sentBytes;
    this.#pings.push(this.#sentBytes);
    this.#socket.ping(String(this.#sentBytes));
    if (!this.#timeout.isRunning) this.#await(this.#sentBytes - this.#takenBytes);
  }

  #onPong(takenBytes: number): void {
    if (this.#isOver || !this.#pings.includes(takenBytes)) return;
    // One answer may confirm all pings up to its own.
    this.#pings = this.#pings.filter((bytes) => bytes > takenBytes);
    this.#takenBytes = takenBytes;
    this.#renewals = 0;
    if (this.#pings.length === 0) this.#timeout.stop();
    else this.#await(this.#sentBytes - takenBytes);
    this.#checkRoom();
  }

  /** No ping was answered in time. */
  #onStill(): void {
    const isSending = this.#context.connection.bytesRead > this.#receivedBytes;
    // Or the answers are unread, because too many frames are in progress.
    if (this.#socket.isPaused) this.#await(this.#sentBytes - this.#takenBytes);
    else if (isSending && this.#renewals < MAX_RENEWALS) {
      this.#renewals += 1;
      this.#await(STEP_BYTES);
    } else this.end('too-slow');
  }

  /** @param bytes The most that the client reads before that shows. */
  #await(bytes: number): void {
    this.#receivedBytes = this.#context.connection.bytesRead;
    this.#timeout.begin(bytes);
  }

  get #hasRoom(): boolean {
    const isTaking = this.#sentBytes - this.#takenBytes < WINDOW_BYTES;
    return isTaking && this.#socket.bufferedAmount <= HIGH_WATER_BYTES;
  }

  #checkRoom(): void {
    if (this.#hasRoom) this.#onRoom?.();
  }
}
