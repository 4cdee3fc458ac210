import { QueueEvents } from 'bullmq';
import { connection } from './connection.js';

export const queueEvents = new QueueEvents('foo', { connection });
export const results = new Map<string, unknown>();
export const reasons = new Map<string, string>();

queueEvents.on('completed', ({ jobId, returnvalue }) => results.set(jobId, returnvalue));
queueEvents.on('failed', ({ jobId, failedReason }) => reasons.set(jobId, failedReason));
