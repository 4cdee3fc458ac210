/** Sessions of browsers see no member of a value whose name is in REDACT, neither by reading nor by searching. */
import { Inject, Injectable } from '@nestjs/common';

import type { Principal } from './principal.js';
import type { Config } from '../config.js';
import { showValues } from '../http/shown-values.js';
import { Problem } from '../problems/problem.js';
import { CONFIG } from '../tokens.js';
import { isHidden, plainName, redacted } from '../queues/shown-payload.js';

/** The sender of a request; null: without authentication. */
type Sender = Principal | null;

@Injectable()
export class Redaction {
  readonly #hidden: ReadonlySet<string>;

  constructor(@Inject(CONFIG) { REDACT }: Config) {
    this.#hidden = new Set(REDACT.map(plainName));
  }

  /** The value as the sender may see it. */
  shown(value: unknown, sender: Sender): unknown {
    return sender?.isSession ? redacted(value, this.#hidden) : value;
  }

  /** The same for all values of callers in an answer or an event. */
  shownIn<Answer>(answer: Answer, sender: Sender): Answer {
    if (!sender?.isSession) return answer;
    return showValues(answer, (value) => this.shown(value, sender)) as Answer;
  }

  /**
   * A search by a hidden member would tell its value. Throws the problem of the place that `field`, a path of members, is in:
   * `invalid-query` or `invalid-body`.
   */
  requireVisible(field: string | undefined, sender: Sender, slug: 'invalid-query' | 'invalid-body'): void {
    const members = sender?.isSession ? (field ?? '').split('.') : [];
    if (!members.some((member) => isHidden(member, this.#hidden))) return;
    const errors = [{ pointer: '/field', message: 'is hidden from sessions by REDACT' }];
    throw new Problem(slug, undefined, { errors });
  }
}
