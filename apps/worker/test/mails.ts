import { randomUUID } from 'node:crypto';

import PostalMime, { type Email } from 'postal-mime';

import { parseMailAddress } from '@mortise/api/market';
import type { Mail } from '../src/mail/mailer.js';
import { sold } from '../src/mail/templates.js';

export const SENDER = {
  name: 'Fake Game',
  address: parseMailAddress('market@mortise.localhost'),
  domain: 'mortise.localhost',
};

/** 2026-11-20T09:00:00.000Z in the first 48 bits. */
export const TASK_ID = '01a1f82f-1e80-7c3b-9a55-0123456789ab';

export function soldMail(to: string, taskId: string = randomUUID(), itemId = 'ItemM'): Mail {
  const content = sold({ saleId: taskId, sellerName: 'Frank', buyerName: 'Bill', itemId, price: 97 });
  return { taskId, to: parseMailAddress(to), ...content };
}

export function parseMail(raw: Buffer): Promise<Email> {
  return PostalMime.parse(raw);
}
