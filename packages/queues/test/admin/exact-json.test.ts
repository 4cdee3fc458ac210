import { describe, expect, test } from '@jest/globals';
import { cutJson, exactParse, Redactor } from '@mortise/queues/admin';
import { encodeTaskId } from '../../src/task/task-id.js';
import { newQueue, redis } from '../fixture/new-queue.js';

const BIG = '12345678901234567890';

describe('a payload that another program has stored', () => {
  test.each([BIG, `-${BIG}`, `[1,${BIG},9007199254740993]`, `{"a":{"b":${BIG}},"c":"x"}`])(
    '%s is shown as it is stored',
    async (json) => {
      const { queue, keys } = newQueue();
      const { id } = await queue.enqueue('t', 0);
      const record = (await redis.hgetBuffer(keys.of.tasks, encodeTaskId(id)))!;
      // The payload is at the end of the record.
      await redis.hset(
        keys.of.tasks,
        encodeTaskId(id),
        Buffer.concat([record.subarray(0, -1), Buffer.from(json)]),
      );
      const task = (await queue.get(id, { parse: exactParse }))!;
      const { text, value, bytes } = cutJson(new Redactor([]).redact(task.payload), 1_000);
      expect([text!.replaceAll(/\s/g, ''), value, bytes]).toEqual([json, undefined, undefined]);
      expect((await queue.get(id))!.payload).toEqual(JSON.parse(json));
    },
  );
});

test.each([
  `{"a":"${BIG}","b":9007199254740992}`,
  `["\\"${BIG}","\\\\",1.5e300,0.12345678901234567,1234567890123456]`,
  '{"1234567890123456789":1}',
  '"2026"',
  'null',
])('%s is the value that JSON.parse returns', (json) => {
  expect(cutJson(exactParse(json), 1_000)).toEqual({ value: JSON.parse(json) });
});

test('a cut text has the number, and its size is that of what is stored', () => {
  const json = `{"a":${BIG},"b":"${'x'.repeat(99)}"}`;
  expect(cutJson(exactParse(json), 30)).toEqual({ text: json.slice(0, 30), bytes: json.length });
});

test('a hidden number is hidden', () => {
  const value = new Redactor(['secret']).redact(exactParse(`{"secret":${BIG},"n":${BIG}}`));
  expect(cutJson(value, 1_000).text).toBe(`{\n  "secret": "[redacted]",\n  "n": ${BIG}\n}`);
});

test('text that is no JSON is refused', () => {
  expect(() => exactParse(`{${BIG}`)).toThrow(SyntaxError);
});
