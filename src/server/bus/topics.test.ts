import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { TOPICS } from './topics.ts'

test('the documents name all topics with their receivers and what happens when a message is lost', async () => {
  const text = await readFile(new URL('../../../docs/architecture.md', import.meta.url), 'utf8')
  const documented = [...text.matchAll(/^\| `(\w+)` \| [^|]+ \| (\w+) \| ([\w ]+)/gm)]

  assert.deepEqual(
    documented.map(([, name, to, lost]) => [name, to, lost!.trim()]),
    Object.entries(TOPICS).map(([name, { to, lost }]) => [name, to, lost]),
  )
})
