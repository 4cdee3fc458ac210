import { expect, test } from '@jest/globals';
import { normalize, RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';

const redis = connect();
const CAPACITY = 4;

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
