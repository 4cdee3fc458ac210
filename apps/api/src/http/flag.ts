import { z } from 'zod';

/** A boolean of a query. */
export const flag = z.stringbool('must be true or false');
