import { Module } from '@nestjs/common';

import { ConsoleController } from './console.controller.js';
import { OverviewReader } from './overview.js';
import { NamesController } from './names.controller.js';
import { RedisFigures } from './redis-figures.js';
import { StoredNames } from './stored-names.js';

/** What the console needs beside the areas of the API. */
@Module({
  controllers: [ConsoleController, NamesController],
  providers: [OverviewReader, RedisFigures, StoredNames],
  exports: [OverviewReader, RedisFigures],
})
export class ConsoleModule {}
