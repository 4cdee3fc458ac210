/**
 * The audit log: what operators changed, in a stream of about the last 10,000 entries. An entry is written before the answer is sent. A
 * process that dies between the two leaves an entry without an answer, or a change without both.
 */
import { Inject, Injectable } from '@nestjs/common';
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { InvalidCursorError } from '../market/index.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';
import { callerKeys } from './keys.js';
import type { Principal } from './principal.js';
import { accessOf } from './route-scopes.js';

const MAX_ENTRIES = 10_000;
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const ADMIN = /:admin$/;

export interface AuditEntry {
  readonly at: number;
  readonly keyId: string | null;
  readonly tenant: string;
  readonly subject: string | null;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly requestId: string;
}

@Injectable()
export class Audit {
  readonly #redis: RedisClient;
  readonly #key: string;
  readonly #log: Logger;

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
    @Inject(LOG) log: Logger,
  ) {
    this.#redis = redis;
    this.#key = callerKeys(prefix).audit;
    this.#log = log;
  }

  /** Writes down what changes something by a scope `…:admin` or by a session, refused or not, and the opening of sessions. */
  watch(server: FastifyInstance): void {
    server.addHook('onSend', async (request, reply, payload) => {
      const { principal, method } = request;
      const { url } = request.routeOptions;
      if (!principal || url === undefined || SAFE_METHODS.has(method)) return payload;
      const isOperator = ADMIN.test(accessOf(method, url)) || principal.isSession;
      if (!isOperator && url !== '/v1/session') return payload;
      const [path = ''] = request.url.split('?');
      await this.#write(principal, { method, path, status: reply.statusCode, requestId: request.id });
      return payload;
    });
  }

  /** The newest entries first. One round trip. Throws ERR_INVALID_CURSOR. */
  async page(
    limit: number,
    cursor: string | undefined,
  ): Promise<{ items: AuditEntry[]; nextCursor: string | null }> {
    if (cursor !== undefined && !/^\d{1,16}-\d{1,10}$/.test(cursor)) throw new InvalidCursorError();
    const from = cursor === undefined ? '+' : `(${cursor}`;
    const args = [this.#key, from, '-', 'COUNT', limit + 1];
    const entries = (await callRedis(this.#redis, 'xrevrange', args)) as [string, string[]][];
    const shown = entries.slice(0, limit);
    const last = entries.length > limit ? shown.at(-1)![0] : null;
    return { items: shown.map(([id, fields]) => entryOf(id, fields)), nextCursor: last };
  }

  async #write(
    { keyId = '', tenant, subject = '' }: Principal,
    entry: Pick<AuditEntry, 'method' | 'path' | 'status' | 'requestId'>,
  ): Promise<void> {
    const fields = Object.entries({ keyId, tenant, subject, ...entry }).flat();
    try {
      await callRedis(this.#redis, 'xadd', [this.#key, 'MAXLEN', '~', MAX_ENTRIES, '*', ...fields]);
    } catch (err) {
      // The change is made, and its client has to know; the log of this process has the entry.
      this.#log.error({ err, keyId, tenant, subject, ...entry }, 'audit');
    }
  }
}

function entryOf(id: string, fields: readonly string[]): AuditEntry {
  const values = new Map<string, string>();
  for (let i = 0; i < fields.length; i += 2) values.set(fields[i]!, fields[i + 1]!);
  const text = (name: string): string => values.get(name) ?? '';
  return {
    at: Number.parseInt(id, 10),
    keyId: text('keyId') || null,
    tenant: text('tenant'),
    subject: text('subject') || null,
    method: text('method'),
    path: text('path'),
    status: Number(text('status')),
    requestId: text('requestId'),
  };
}
