/** How the purchases of this process ended: conflicts show buyers who compete. */
import { Metrics } from '@mortise/app-common/operations';
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';

import type { Outcome, Receipt } from './index.js';
import { MarketRefusal } from './index.js';

const OUTCOMES = ['sold', 'repeated', 'conflict', 'refused', 'failed'] as const;
type PurchaseOutcome = (typeof OUTCOMES)[number];

/** Another purchase or change came first. */
const CONFLICTS: ReadonlySet<string> = new Set([
  'ERR_ALREADY_SOLD',
  'ERR_PRICE_CHANGED',
  'ERR_STALE_TOKEN',
  'ERR_LOCK_TIMEOUT',
]);

@Injectable()
export class PurchaseOutcomes {
  /** When this process began to count, ms since the epoch. */
  readonly since = Date.now();
  readonly #counts = new Map<PurchaseOutcome, number>(OUTCOMES.map((outcome) => [outcome, 0]));
  readonly #counter: Counter<'outcome'>;

  constructor({ registry }: Metrics) {
    this.#counter = new Counter({
      name: 'mortise_market_purchases_total',
      help: 'Purchases of the market by outcome: sold, repeated, conflict, refused or failed',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  of(outcome: PurchaseOutcome): number {
    return this.#counts.get(outcome)!;
  }

  /** Counts how a purchase ends. */
  async count(purchase: Promise<Outcome<Receipt>>): Promise<Outcome<Receipt>> {
    try {
      const made = await purchase;
      this.#add(made.isRepeated ? 'repeated' : 'sold');
      return made;
    } catch (error) {
      this.#add(outcomeOf(error));
      throw error;
    }
  }

  #add(outcome: PurchaseOutcome): void {
    this.#counts.set(outcome, this.of(outcome) + 1);
    this.#counter.inc({ outcome });
  }
}

function outcomeOf(error: unknown): PurchaseOutcome {
  const code = String((error as { code?: unknown }).code);
  if (CONFLICTS.has(code)) return 'conflict';
  return error instanceof MarketRefusal ? 'refused' : 'failed';
}
