// A process that changes rows of a SQLite file, one transaction each, beside others that do the same.
import Database from 'libsql';

const { path, ids, name } = JSON.parse(process.argv[2]);
const database = new Database(path, { timeout: 20_000 });
const update = database.prepare('update items set name = ? where id = ?');
for (let round = 1; round <= 20; round += 1) for (const id of ids) update.run(`${name} ${id} ${round}`, id);
