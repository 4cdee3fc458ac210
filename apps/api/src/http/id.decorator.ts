import { Param } from '@nestjs/common';

import { idSchema } from './id-schema.js';

/** An id in the address. */
export function Id(part: string): ParameterDecorator {
  return Param(part, { schema: idSchema });
}
