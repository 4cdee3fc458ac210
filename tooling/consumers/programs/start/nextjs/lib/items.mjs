import { RowCache } from '@mortise/cache/rows';
import { redis } from './redis.mjs';

// In place of your database: one query for many ids.
const load = async (ids) => new Map(ids.map((id) => [id, { id, name: 'hammer', stock: 7 }]));
export const items = new RowCache(redis, 'items', { load });
