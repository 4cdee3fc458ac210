import { setTimeout as pause } from 'node:timers/promises';
import { CachesModule, getRowCacheToken } from '@mortise/cache/nestjs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
// In place of your database: one query for many ids.
const load = async (ids: readonly string[]) =>
  new Map(ids.map((id) => [id, { id, name: 'hammer', stock: 7 }]));

const feature = { rows: { items: { load } }, refreshers: { all: { tables: ['items'] } } };

@Module({ imports: [CachesModule.forRoot({ url, feature })] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const items = app.get(getRowCacheToken('items'));
await items.schedule('42', { everyMs: 1_000 });
while ((await items.get('42')) === null) await pause(10); // until its first load
console.log(await items.get('42'));
await app.close();

// Output:
// { id: '42', name: 'hammer', stock: 7 }
