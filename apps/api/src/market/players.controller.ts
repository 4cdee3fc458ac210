import { Body, Controller, Get, HttpStatus, Put, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, Creates } from '../http/answers.js';
import { Id } from '../http/id.decorator.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import type { Page, Player } from './index.js';
import { Market, UnknownPlayerError } from './index.js';
import { itemSchema, itemsPage, itemsQuery, playerBody, playerSchema } from './schemas.js';

@ApiTags('players')
@Controller('v1/market/players')
export class PlayersController {
  constructor(private readonly market: Market) {}

  @Put(':id')
  @ApiOperation({
    summary: 'Create a player, or change the name and address of a player',
    description: 'Funds count only when the player is created. Later they change only by trade.',
  })
  @Creates(playerSchema, 'The player, created.', 'The player, changed; also for a repeated request.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'market-full')
  async putPlayer(
    @Id('id') id: string,
    @Body({ schema: playerBody }) body: z.infer<typeof playerBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Player> {
    const { player, isNew } = await this.market.putPlayer(id, body);
    if (isNew) reply.status(HttpStatus.CREATED);
    return player;
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a player' })
  @Answers(playerSchema, 'The player.')
  @Problems('invalid-id', 'unknown-player')
  async player(@Id('id') id: string): Promise<Player> {
    const player = await this.market.player(id);
    if (!player) throw new UnknownPlayerError(id);
    return player;
  }

  @Put(':id/items/:itemId')
  @ApiOperation({ summary: "Put a new item into a player's inventory" })
  @Creates(itemSchema, 'The item, created.', 'The player has the item already; also for a repeated request.')
  @Problems('invalid-id', 'unknown-player', 'item-taken', 'market-full')
  async giveItem(
    @Id('id') id: string,
    @Id('itemId') itemId: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof itemSchema>> {
    if (await this.market.giveItem(id, itemId)) reply.status(HttpStatus.CREATED);
    return { id: itemId, ownerId: id };
  }

  @Get(':id/items')
  @ApiOperation({
    summary: "List a player's inventory",
    description: 'Lists the items that are not listed for sale.',
  })
  @Answers(itemsPage, 'A page of items, by id.')
  @Problems('invalid-id', 'invalid-query', 'invalid-cursor', 'unknown-player')
  async items(
    @Id('id') id: string,
    @Query({ schema: itemsQuery }) query: z.infer<typeof itemsQuery>,
  ): Promise<Page<z.infer<typeof itemSchema>>> {
    const { items, nextCursor } = await this.market.itemsOf(id, query);
    if (items.length === 0 && !(await this.market.player(id))) throw new UnknownPlayerError(id);
    return { items: items.map((itemId) => ({ id: itemId, ownerId: id })), nextCursor };
  }
}
