import { Param } from '@nestjs/common';

import { idSchema, nameSchema } from './id-schema.js';

/** An id of the market or of a guild in the address. */
export function Id(part: string): ParameterDecorator {
  return Param(part, { schema: idSchema });
}

/** A name of something of a package in the address. */
export function Name(part: string): ParameterDecorator {
  return Param(part, { schema: nameSchema });
}
