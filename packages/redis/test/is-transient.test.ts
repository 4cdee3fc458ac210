import { expect, test } from '@jest/globals';
import { ArgumentTypeError, ClientClosedError, isTransient } from '../src/index.js';

const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

test.each<[unknown]>([
  [new Error('Connection is closed.')],
  [new Error('Command timed out')],
  [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
  ...'MOVED ASK TRYAGAIN CLUSTERDOWN LOADING MASTERDOWN READONLY BUSY OOM UNBLOCKED NOREPLICAS'
    .split(' ')
    .map((word): [unknown] => [reply(`${word} some text`)]),
  ['not an error'],
])('a retry may help after %s', (error) => {
  expect(isTransient(error)).toBe(true);
});

test.each([
  [reply('NOPERM no permissions')],
  [reply('WRONGTYPE wrong kind of value')],
  [reply('BUSYGROUP the group exists')],
  [reply('ERR MOVED is not the first word')],
  [new ClientClosedError()],
  [new ArgumentTypeError('limit must be a number')],
  [new RangeError('Invalid array length')],
])('a retry does not help after %s', (error) => {
  expect(isTransient(error)).toBe(false);
});
