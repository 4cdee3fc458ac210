import type { Command } from './command.js';
import { HASH_COMMANDS } from './hashes.js';
import { KEY_COMMANDS } from './keys.js';
import { LIST_COMMANDS } from './lists.js';
import { SET_COMMANDS } from './sets.js';
import { SORTED_SET_COMMANDS } from './sorted-sets.js';
import { STREAM_COMMANDS } from './streams.js';
import { STRING_COMMANDS } from './strings.js';

/** The commands of data, by their names in lower case. */
export const DATA_COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    ...STRING_COMMANDS,
    ...LIST_COMMANDS,
    ...HASH_COMMANDS,
    ...SET_COMMANDS,
    ...SORTED_SET_COMMANDS,
    ...STREAM_COMMANDS,
    ...KEY_COMMANDS,
  }),
);
