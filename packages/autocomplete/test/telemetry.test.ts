import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import { otelTelemetry } from '@mortise/autocomplete/otel';
import type { Telemetry } from '@mortise/redis';
import { connect, freshPrefix, listedMetrics, namesAndUnits, Recording } from '@mortise/test-kit';
import * as api from '@opentelemetry/api';
import { METRICS } from '../src/metrics.js';

const redis = connect();

test('changes, completions and suggestions of recent contacts are counted', async () => {
  const telemetry = new Recording();
  const recent = new RecentContacts(redis, { prefix: freshPrefix(), telemetry });
  await Promise.all([recent.touch('anna', 'jack'), recent.touch('anna', 'jill'), recent.remove('anna', 'x')]);
  await recent.complete('anna', 'j');
  await recent.complete('anna', 'x');
  expect(telemetry.counts).toEqual({ 'changes recent': 3, 'completions recent': 2, 'suggestions recent': 2 });
});

test('changes and completions of a book are counted, each page as one', async () => {
  const telemetry = new Recording();
  const book = new AddressBook(redis, 'guild', { prefix: freshPrefix(), telemetry });
  await book.addMany([{ key: 'jack' }, { key: 'jill' }]);
  await Promise.all([book.add({ key: 'joe' }), book.boost('jack'), book.remove('nobody')]);
  await expect(book.add({ key: '' })).rejects.toThrow(RangeError);
  await book.get('jack');
  expect(telemetry.counts).toEqual({ 'changes book': 5 });
  await book.complete('j', { limit: 2 });
  await book.complete('x');
  await book.page('j', { limit: 2 });
  await expect(book.complete('j', { cursor: 'damaged' })).rejects.toThrow('cursor is not one of these pages');
  expect(telemetry.counts).toEqual({ 'changes book': 5, 'completions book': 3, 'suggestions book': 4 });
});

test('telemetry that throws harms no call and is printed once; no method is needed', async () => {
  const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  const telemetry: Telemetry = {
    count: () => {
      throw new Error('full');
    },
  };
  const recent = new RecentContacts(redis, { prefix: freshPrefix(), telemetry });
  await recent.touch('anna', 'jack');
  expect(await recent.complete('anna', 'j')).toEqual(['jack']);
  expect(printed).toHaveBeenCalledTimes(1);
  printed.mockRestore();
  const silent = new RecentContacts(redis, { prefix: freshPrefix(), telemetry: {} });
  expect(await silent.complete('anna', 'j')).toEqual([]);
});

test('a value other than an object is refused', () => {
  const telemetry = 'otel' as unknown as Telemetry;
  expect(() => new RecentContacts(redis, { telemetry })).toThrow('telemetry must be an object, got string');
  expect(() => new AddressBook(redis, 'guild', { telemetry })).toThrow('telemetry must be an object');
});

test('the reference lists all metrics', () => {
  const page = '../../docs/autocomplete/reference/metrics.md';
  expect(listedMetrics(join(import.meta.dirname, '..'), page)).toEqual(namesAndUnits(METRICS));
});

test('otelTelemetry counts under the scope of the package', async () => {
  const added: unknown[] = [];
  const meter = api.metrics.getMeter('none');
  jest.spyOn(api.metrics, 'getMeter').mockImplementation((scope) => {
    const add = (value: number): unknown => added.push([scope, value]);
    return Object.assign(Object.create(meter) as api.Meter, { createCounter: () => ({ add }) });
  });
  const recent = new RecentContacts(redis, { prefix: freshPrefix(), telemetry: otelTelemetry(api) });
  await recent.touch('anna', 'jack');
  expect(added).toEqual([['@mortise/autocomplete', 1]]);
  jest.restoreAllMocks();
});
