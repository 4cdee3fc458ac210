import { Param } from '@nestjs/common';

import { nameUpTo } from '../http/id-schema.js';

/** A key and an instant make the id of a task. */
const MAX_KEY_BYTES = 900;

/** The key of a schedule in the address. */
export function ScheduleKey(): ParameterDecorator {
  return Param('key', { schema: nameUpTo(MAX_KEY_BYTES) });
}
