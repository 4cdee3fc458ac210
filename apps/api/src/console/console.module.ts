import { Module } from '@nestjs/common';

import { ConsoleController } from './console.controller.js';
import { OverviewReader } from './overview.js';
import { NamesController } from './names.controller.js';
import { RedisFigures } from './redis-figures.js';
import { StoredNames } from './stored-names.js';

/** The routes of the console beside those of the areas. */
@Module({
  controllers: [ConsoleController, NamesController],
  providers: [OverviewReader, RedisFigures, StoredNames],
  exports: [OverviewReader, RedisFigures, StoredNames],
})
export class ConsoleModule {}
