import { Param } from '@nestjs/common';

import { taskIdSchema } from './schemas.js';

/** The id of a task in the address. */
export function TaskId(): ParameterDecorator {
  return Param('id', { schema: taskIdSchema });
}
