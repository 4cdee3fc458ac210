/** The records of a process show the refused executions. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Executions } from '../src/queues/executions.js';
import { Recorder } from '../src/queues/records.js';

const TASK = 7;
const LEASE_ENDS_AT = 1_000;
let directory: string;
let recorder: Recorder;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));
  recorder = new Recorder(join(directory, 'w0'));
});

afterEach(() => {
  recorder.close();
  rmSync(directory, { recursive: true });
});

const begin = (attempt: number): number => recorder.begin(TASK, attempt, 10 * attempt, LEASE_ENDS_AT);

function refused(): boolean[] {
  const source = { worker: 0, file: join(directory, 'w0'), killedAt: Infinity, stops: [] };
  return Array.from(Executions.read([source]).isRefused, (flag) => flag === 1);
}

test('it is the one that has ended', () => {
  recorder.end(begin(1), TASK, 'returned', 15, LEASE_ENDS_AT);
  recorder.refused(TASK, 16);
  recorder.end(begin(2), TASK, 'returned', 25, LEASE_ENDS_AT);
  expect(refused()).toEqual([true, false]);
});

test('it is the one before, when the call that brought the task again was answered first', () => {
  recorder.end(begin(1), TASK, 'returned', 15, LEASE_ENDS_AT);
  const second = begin(2);
  recorder.refused(TASK, 21);
  recorder.end(second, TASK, 'returned', 25, LEASE_ENDS_AT);
  expect(refused()).toEqual([true, false]);
});

test('it is the one that runs, when that has lost its lease', () => {
  recorder.end(begin(1), TASK, 'failed', 15, LEASE_ENDS_AT);
  const second = begin(2);
  recorder.refused(TASK, 21);
  recorder.end(second, TASK, 'lease lost', 25, LEASE_ENDS_AT);
  expect(refused()).toEqual([false, false]);
});

test('it is the one that runs, when there is no other', () => {
  begin(1);
  recorder.refused(TASK, 21);
  expect(refused()).toEqual([true]);
});
