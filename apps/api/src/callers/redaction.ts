/** Sessions of browsers see no member of a value whose name is in REDACT, neither by reading nor by searching. */
import { Redactor } from '@mortise/queues/admin';
import { Inject, Injectable } from '@nestjs/common';

import type { Principal } from './principal.js';
import type { Config } from '../config.js';
import { showValues } from './shown-values.js';
import { Problem } from '../problems/problem.js';
import { CONFIG } from '../tokens.js';

/** The sender of a request; null: without authentication. */
type Sender = Principal | null;

interface Search {
  readonly field?: string | undefined;
  readonly equals?: string | undefined;
}

@Injectable()
export class Redaction {
  readonly #redactor: Redactor;

  constructor(@Inject(CONFIG) { REDACT }: Config) {
    this.#redactor = new Redactor(REDACT);
  }

  /** The value as the sender may see it. */
  shown(value: unknown, sender: Sender): unknown {
    return sender?.isSession ? this.#redactor.redact(value) : value;
  }

  /** The same for all values of callers in an answer or an event. */
  shownIn<Answer>(answer: Answer, sender: Sender): Answer {
    if (!sender?.isSession) return answer;
    return showValues(answer, this.#redactor) as Answer;
  }

  /**
   * A search by a hidden member, or by an object that has one, would tell its value. Throws the problem of the place that `field`, a path
   * of members, is in: `invalid-query` or `invalid-body`.
   */
  requireVisible({ field, equals }: Search, sender: Sender, slug: 'invalid-query' | 'invalid-body'): void {
    if (!sender?.isSession || field === undefined || !this.#redactor.hides(field, equals)) return;
    const errors = [{ pointer: '/field', message: 'is hidden from sessions by REDACT' }];
    throw new Problem(slug, undefined, { errors });
  }
}
