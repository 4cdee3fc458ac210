import { expect, test } from '@jest/globals';
import { normalize, RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { toContact, toEntry } from '../../src/contacts/contact.js';
import { recentContactsRank } from '../../src/scripts.gen.js';

const redis = connect();
const CAPACITY = 4;
const HALF_LIFE_MS = 60_000;

const contact = fc.constantFrom('jack', 'Jack', 'jill', 'José', 'jo\0', '😀', '존', 'Straße');
const text = fc.constantFrom('', 'j', 'JA', 'jose', 'jo', '😀', '\ud83d', '조', 'strasse', 'x');
const operation = fc.oneof(
  fc.record({ type: fc.constant('touch' as const), contact }),
  fc.record({ type: fc.constant('remove' as const), contact }),
  fc.record({ type: fc.constant('complete' as const), text, limit: fc.integer({ min: 1, max: 5 }) }),
);

test('behaves like an array, whatever is called in the same tick', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.array(operation, { maxLength: 6 }), { maxLength: 8 }),
    async (ticks) => {
      const recent = new RecentContacts(redis, { prefix: freshPrefix(), capacity: CAPACITY });
      let model: string[] = [];
      for (const tick of ticks) {
        const reads = tick.filter((step) => step.type === 'complete');
        const changes = tick.filter((step) => step.type !== 'complete');
        const results = await Promise.all(changes.map((step) => recent[step.type]('anna', step.contact)));
        const expected = changes.map((step) => {
          const wasThere = model.includes(step.contact);
          model = model.filter((other) => other !== step.contact);
          if (step.type === 'remove') return wasThere;
          model = [step.contact, ...model].slice(0, CAPACITY);
          return undefined;
        });
        expect(results).toEqual(expected);
        expect(await recent.list('anna')).toEqual(model);
        for (const { text: typed, limit } of reads) {
          const matches = model.filter((other) => normalize(other).startsWith(normalize(typed)));
          expect(await recent.complete('anna', typed, { limit })).toEqual(matches.slice(0, limit));
        }
      }
    },
  );
  await fc.assert(property, { numRuns: 150 });
});

/** A capacity, the number of known contacts, and touches, of which a few are removals. */
const history = fc.record({
  capacity: fc.constantFrom(3, 12, 30),
  known: fc.constantFrom(4, 14, 40),
  length: fc.constantFrom(1, 9, 70),
  changes: fc.array(fc.tuple(fc.nat(), fc.nat(40)), { minLength: 40, maxLength: 120 }),
});

test('behaves like an array after each of many touches, with contacts of all lengths', async () => {
  const property = fc.asyncProperty(history, async ({ capacity, known, length, changes }) => {
    const recent = new RecentContacts(redis, { prefix: freshPrefix(), capacity });
    const names = Array.from(
      { length: known },
      (_, index) => `${'ab'[index % 2]!}${'é'.repeat(length)}${index}`,
    );
    let model: string[] = [];
    for (const [which, kind] of changes) {
      const name = names[which % known]!;
      model = model.filter((other) => other !== name);
      if (kind !== 0) model = [name, ...model].slice(0, capacity);
      await recent[kind === 0 ? 'remove' : 'touch']('anna', name);
      const [list, found] = await Promise.all([
        recent.list('anna'),
        recent.complete('anna', 'b', { limit: 40 }),
      ]);
      expect(list).toEqual(model);
      expect(found).toEqual(model.filter((other) => other.startsWith('b')));
    }
  });
  await fc.assert(property, { numRuns: 40 });
});

const tick = fc.record({
  passedMs: fc.oneof(fc.nat(100), fc.nat(200_000)),
  changes: fc.array(fc.tuple(fc.constantFrom('+', '+', '+', '-'), contact), { minLength: 1, maxLength: 5 }),
  text,
  limit: fc.integer({ min: 1, max: 5 }),
});

/** As `%.0f` of C. */
function round(value: number): number {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

/** The stored rank, by the formula, and all touches since the contact came in. */
interface Kept {
  rank: number;
  readonly touchedAt: number[];
}

test('behaves like a table of frecencies, whose ranks are those of all touches added up', async () => {
  const property = fc.asyncProperty(fc.array(tick, { maxLength: 15 }), async (ticks) => {
    const prefix = freshPrefix();
    const ranked = `${prefix}:autocomplete:{anna}:ranked:1`;
    const recent = new RecentContacts(redis, { prefix, capacity: CAPACITY, halfLifeMs: HALF_LIFE_MS });
    const model = new Map<string, Kept>();
    const inOrder = (): string[] =>
      [...model]
        .toSorted(([a, x], [b, y]) => x.rank - y.rank || Buffer.compare(Buffer.from(a), Buffer.from(b)))
        .map(([entry]) => entry);
    let nowMs = 1_700_000_000_000;
    for (const { passedMs, changes, text: typed, limit } of ticks) {
      nowMs += passedMs;
      const results = await recentContactsRank.run(
        redis,
        { rankeds: changes.map(() => ranked) },
        {
          capacity: CAPACITY,
          halfLifeMs: HALF_LIFE_MS,
          keepMs: 60_000,
          nowMs,
          signs: changes.map(([sign]) => sign).join(''),
          entries: changes.map(([, name]) => toEntry(name)),
        },
      );
      const expected = changes.map(([sign, name]) => {
        const entry = toEntry(name);
        const known = model.get(entry);
        if (sign === '-') return model.delete(entry) ? 1 : 0;
        const now = nowMs / HALF_LIFE_MS;
        if (known) {
          const before = -known.rank / 1_000;
          const [low, high] = [Math.min(before, now), Math.max(before, now)];
          known.rank = -round(1_000 * (high + Math.log(1 + 2 ** (low - high)) / Math.log(2)));
          known.touchedAt.push(nowMs);
          return 1;
        }
        if (model.size === CAPACITY) model.delete(inOrder().at(-1)!);
        model.set(entry, { rank: -round(1_000 * now), touchedAt: [nowMs] });
        return 0;
      });
      expect(results).toEqual(expected);
      const contacts = inOrder().map(toContact);
      expect(await recent.list('anna')).toEqual(contacts);
      const found = contacts.filter((name) => normalize(name).startsWith(normalize(typed)));
      expect(await recent.complete('anna', typed, { limit })).toEqual(found.slice(0, limit));
      for (const { rank, touchedAt } of model.values()) {
        const frecency = touchedAt.reduce((sum, at) => sum + 2 ** ((at - nowMs) / HALF_LIFE_MS), 0);
        // Half a thousandth is lost at each touch at most.
        const error = Math.abs(-rank / 1_000 - (Math.log2(frecency) + nowMs / HALF_LIFE_MS));
        expect(error).toBeLessThanOrEqual(0.0005 * touchedAt.length + 1e-6);
      }
    }
  });
  await fc.assert(property, { numRuns: 150 });
});
