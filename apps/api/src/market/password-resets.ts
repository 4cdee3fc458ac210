import { noteTask, taskHeaders } from '@mortise/app-common/log';
import { Inject, Injectable } from '@nestjs/common';
import { RateLimiter } from '@mortise/locks';
import { Queue } from '@mortise/queues';
import { InjectQueue } from '@mortise/queues/nestjs';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { MailTasks } from './index.js';
import { MAIL_ATTEMPTS, MAIL_QUEUE, Market, UnknownPlayerError } from './index.js';

/** For one player. */
const LIMIT = { limit: 3, periodMs: 3_600_000, burst: 3 } as const;
/** After that nobody waits for the mail. */
const EXPIRES_IN_MS = 1_800_000;

/** Mails to players who forgot their password. Anybody can request one in their name, so a rate limit bounds them. */
@Injectable()
export class PasswordResets {
  readonly #redis: RedisClient;
  readonly #prefix: string;

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
    private readonly market: Market,
    @InjectQueue(MAIL_QUEUE) private readonly mails: Queue<MailTasks>,
  ) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /**
   * Enqueues the mail and returns the id of its task; the same request key returns the same id. A repeated
   * request counts once. Four round trips. Throws
   * ERR_UNKNOWN_PLAYER and the problem `rate-limited`, at more than three an hour for one player.
   */
  async request(playerId: string, requestKey: string | undefined): Promise<string> {
    if (!(await this.market.player(playerId))) throw new UnknownPlayerError(playerId);
    const id = requestKey === undefined ? undefined : `reset:${playerId}:${requestKey}`;
    if (id !== undefined && (await this.mails.get(id))) return id;
    const limiter = new RateLimiter(this.#redis, `password-reset:${playerId}`, {
      ...LIMIT,
      prefix: this.#prefix,
    });
    const { isAllowed, retryAfterMs } = await limiter.take();
    if (!isAllowed) {
      const { limit, periodMs } = LIMIT;
      throw new Problem('rate-limited', undefined, { playerId, limit, periodMs, retryAfterMs });
    }
    const task = await this.mails.enqueue(
      'mail.password-reset',
      { playerId },
      {
        priority: 'high',
        attempts: MAIL_ATTEMPTS,
        expiresInMs: EXPIRES_IN_MS,
        ...taskHeaders(),
        ...(id !== undefined && { id }),
      },
    );
    noteTask(task.id);
    return task.id;
  }
}
