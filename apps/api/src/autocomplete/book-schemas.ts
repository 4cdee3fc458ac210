/** Requests and responses of the routes of address books. */
import { normalize } from '@mortise/autocomplete';
import { z } from 'zod';

import { idSchema } from '../http/id-schema.js';
import { limitUpTo, prefix, textSchema } from './schemas.js';

const MAX_BATCH = 1_000;
const MAX_COMPLETIONS = 100;
const USUAL_COMPLETIONS = 10;
const MAX_ALIASES = 16;
const MAX_TEXT_BYTES = 256;
const MAX_PAYLOAD_BYTES = 2_048;
/** The longest that fits into the head of a request. */
const MAX_CURSOR_LENGTH = 12_288;
const MAX_SCORE = 1_000_000_000_000;

/** Folding must leave at least one character to find it by. */
const nameTextSchema = textSchema
  .refine((text) => Buffer.byteLength(text) <= MAX_TEXT_BYTES, `must have at most ${MAX_TEXT_BYTES} bytes`)
  .refine((text) => normalize(text).trim() !== '', 'must have more than spaces and marks');

const count = z.int().min(0);
const name = idSchema.meta({ description: 'the id of the named person or thing', examples: ['lukasz-7'] });
const display = nameTextSchema.meta({
  description:
    'The text to show, which completions also search, in any writing system. Default: the name itself.',
  examples: ['Łukasz Nowak'],
});
const aliases = z
  .array(nameTextSchema)
  .max(MAX_ALIASES)
  .meta({ description: 'further texts that completions search: nicknames, other writing systems' });
const score = z
  .number()
  .min(-MAX_SCORE)
  .max(MAX_SCORE)
  .meta({ description: 'the higher, the earlier in completions' });
const payload = z
  .unknown()
  .refine(
    (value) => value === undefined || Buffer.byteLength(JSON.stringify(value)) <= MAX_PAYLOAD_BYTES,
    `must have at most ${MAX_PAYLOAD_BYTES} bytes of JSON`,
  );

const by = idSchema.meta({ description: 'the requesting member of the guild, who is a name of its book' });

const entry = {
  display: display.optional(),
  aliases: aliases.optional(),
  score: score.optional().meta({ description: 'Default: the present score of the name; 0 for a new name' }),
  payload: payload.optional().meta({ description: `any JSON, up to ${MAX_PAYLOAD_BYTES} bytes` }),
};

export const byQuery = z.strictObject({ by });

export const nameBody = z
  .strictObject(entry)
  .meta({ id: 'NameBody', examples: [{ display: 'Łukasz Nowak', aliases: ['Luk'], score: 5 }] });

export const nameBatchBody = z
  .strictObject({
    names: z
      .array(z.strictObject({ name, ...entry }))
      .min(1)
      .max(MAX_BATCH)
      .refine(
        (names) => new Set(names.map((each) => each.name)).size === names.length,
        'must have each name once',
      ),
  })
  .meta({
    id: 'NameBatchBody',
    examples: [{ names: [{ name: 'some-id' }, { name: 'minjun', display: '김민준', aliases: ['Minjun'] }] }],
  });

export const boostBody = z
  .strictObject({ amount: score.default(1).meta({ description: 'added to the score' }) })
  .meta({ id: 'BoostBody', examples: [{ amount: 1 }] });

export const bookSchema = z
  .object({ guild: idSchema, size: count.meta({ description: 'the number of names in the book' }) })
  .meta({ id: 'AddressBook' });

export const putNameSchema = z
  .object({ name, isNew: z.boolean() })
  .meta({ id: 'PutName', description: 'Whether it was not in the book before.' });

export const nameBatchSchema = z
  .object({ added: count.meta({ description: 'the number of new names' }), changed: count })
  .meta({ id: 'NameBatch' });

export const boostSchema = z
  .object({ name, score: z.number().meta({ description: 'the present score' }) })
  .meta({ id: 'Boost' });

/** Programs that use the package may have given any key. */
const stored = {
  name: z.string(),
  display: z.string(),
  score: z.number(),
  payload: z.unknown().optional(),
};

export const nameSchema = z.object({ ...stored, aliases: z.array(z.string()) }).meta({ id: 'Name' });

const matches = z
  .array(z.object({ start: count, end: count }))
  .meta({ description: 'which parts of `display` match, in UTF-16 code units, for highlighting' });

const fuzzy = z
  .stringbool('must be true or false')
  .default(false)
  .meta({ description: 'adds names with one typing error after the others' });

export const completionsQuery = z.strictObject({
  by,
  prefix,
  limit: limitUpTo(MAX_COMPLETIONS, USUAL_COMPLETIONS),
  order: z.enum(['score', 'alphabetical']).default('score').meta({
    description: 'the order: the highest scores first, or by the bytes of the folded names',
  }),
  fuzzy,
  cursor: z.string().min(1).max(MAX_CURSOR_LENGTH).optional().meta({
    description: 'The `nextCursor` of the page before. Prefix, order and fuzzy must stay the same.',
  }),
});

export const completionsPage = z
  .object({
    items: z.array(
      z.object({
        ...stored,
        matches,
        isFuzzy: z.boolean().meta({ description: 'the name matches only with a typing error' }),
      }),
    ),
    nextCursor: z.string().nullable().meta({ description: 'null: this is the last page' }),
  })
  .meta({ id: 'CompletionPage' });

export const mentionsQuery = z.strictObject({
  by: idSchema.meta({ description: 'the requesting member of the guild, whose recent contacts come first' }),
  prefix,
  limit: limitUpTo(MAX_COMPLETIONS, USUAL_COMPLETIONS),
  fuzzy,
});

export const mentionsSchema = z
  .object({
    items: z.array(
      z.object({
        name: z.string().meta({ description: 'for a contact, the part before `|`' }),
        display: z.string(),
        isRecent: z
          .boolean()
          .meta({ description: 'the person is a recent contact of the requesting member' }),
        score: z
          .number()
          .optional()
          .meta({ description: 'the score in the book, if the book has found the person' }),
        payload: z.unknown().optional(),
        matches,
      }),
    ),
    isComplete: z
      .boolean()
      .meta({ description: 'false if the recent contacts or the book could not be read' }),
  })
  .meta({ id: 'Mentions' });
