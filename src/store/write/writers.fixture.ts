// Run by tests as a separate process that they kill: four writers create, change and delete pairs of rows, and print
// each acknowledged write to standard output. Arguments: data directory, database URL or nothing, name of the run.

import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { openStore } from '../index.ts'
import { draft, write } from '../testing/fixtures.ts'

const [dataDir, url, run] = process.argv.slice(2) as [string, string, string]
const store = await openStore({
  url: url || undefined,
  dataDir,
  masterKeyFile: `${dataDir}/master.key`,
  clock: systemClock,
  log: silentLog,
})

async function writer(name: string): Promise<void> {
  for (let count = 0; ; count += 1) {
    const id = `th_${run}_${name}_${count}`
    const pair = (state: string) => [
      draft({ id, data: { state }, secrets: { state }, claims: [{ scope: 'name', name: id }] }),
      draft({
        id: `${id}_child`,
        data: { state },
        references: [{ field: 'parent', target: id, onDelete: 'cascade' }],
      }),
    ]
    const say = (state: string) => process.stdout.write(`${id} ${state}\n`)
    await write(store, async (tx) => {
      for (const each of pair('created')) await tx.insert(each)
    })
    say('created')
    if (count % 3 === 0) continue
    await write(store, async (tx) => {
      for (const each of pair('updated')) await tx.update(each)
    })
    say('updated')
    if (count % 3 === 1) continue
    await write(store, (tx) => tx.remove('thing', 'ac_one', id))
    say('deleted')
  }
}

await Promise.all(['a', 'b', 'c', 'd'].map(writer))
