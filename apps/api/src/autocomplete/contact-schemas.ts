/** Requests and responses of the routes of recent contacts. */
import { z } from 'zod';

import { isDotSegment } from '../http/dot-segment.js';
import { limitUpTo, prefix, textSchema } from './schemas.js';

/** The capacity of `RecentContacts`. */
export const MAX_CONTACTS = 100;

export const contactSchema = textSchema.refine((text) => !isDotSegment(text), 'must not be . or ..');

export const contactsQuery = z.strictObject({ prefix, limit: limitUpTo(MAX_CONTACTS, MAX_CONTACTS) });

/** Of one call of `touchMany`. */
const MAX_TOUCHED = 1_000;

export const touchBody = z
  .strictObject({
    contacts: z
      .array(contactSchema)
      .min(1)
      .max(MAX_TOUCHED)
      .meta({ description: 'the contacts, the most recent one last' }),
  })
  .meta({ id: 'TouchBody', examples: [{ contacts: ['Łukasz', 'Jean'] }] });

export const contactsSchema = z
  .object({
    items: z.array(z.object({ contact: z.string().meta({ examples: ['Łukasz'] }) })).max(MAX_CONTACTS),
  })
  .meta({ id: 'Contacts', description: 'The contacts, the last touched first.' });
