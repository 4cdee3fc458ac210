import 'reflect-metadata';
import type { Chats } from '@mortise/messaging';
import { InjectChats, MessagingModule } from '@mortise/messaging/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');

@Injectable()
class Lunches {
  constructor(@InjectChats() private readonly chats: Chats<string>) {}

  async ask(sender: string, members: string[]): Promise<void> {
    await this.chats.create({ sender, members, body: 'Lunch?' });
  }

  /** Shows the unread messages of a member, and acks them. */
  async show(member: string): Promise<void> {
    for (const { chatId, epoch, messages } of await this.chats.pull(member)) {
      for (const { id, from, body } of messages) console.log(id, `${from}: ${body}`);
      await this.chats.ack(chatId, member, messages.at(-1)!.id, { epoch });
    }
  }
}

@Module({
  imports: [MessagingModule.forRoot({ redis, prefix: 'example:nestjs', chats: { keepMs: 7 * 86_400_000 } })],
  providers: [Lunches],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
await app.get(Lunches).ask('jill', ['jack']);
await app.get(Lunches).show('jack');
await app.close();
await redis.quit();

// Output:
// 1 jill: Lunch?
