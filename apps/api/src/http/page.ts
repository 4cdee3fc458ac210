/** The query and the answer of routes that list. */
import { z } from 'zod';

import { digits } from './digits.js';
import { DEFAULT_PAGE, MAX_CURSOR_LENGTH, MAX_PAGE } from './page-limits.js';

export const cursor = z
  .string()
  .min(1)
  .max(MAX_CURSOR_LENGTH)
  .optional()
  .meta({ description: 'nextCursor of the page before' });

export const limit = digits(1, MAX_PAGE)
  .default(DEFAULT_PAGE)
  // zod leaves the default of what it preprocesses out of the JSON schema.
  .meta({ description: `default ${DEFAULT_PAGE}` });

export const nextCursor = z.string().nullable().meta({ description: 'null: this is the last page' });
