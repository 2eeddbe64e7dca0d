import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { offerCommandOnPath } from './path-offer.ts'

test('a link in a directory of the user is offered until adit is on the PATH', () => {
  const home = createTempDir()
  const program = join(home, 'checkout', 'adit')
  const bin = join(home, '.local', 'bin')
  for (const directory of [join(home, 'checkout'), bin]) mkdirSync(directory, { recursive: true })
  writeFileSync(program, '')
  const environment = { HOME: home, PATH: ['/usr/bin', bin].join(delimiter) }

  assert.equal(offerCommandOnPath(environment, program), `ln -s ${program} ${join(bin, 'adit')}`)
  assert.equal(
    offerCommandOnPath({ HOME: home, PATH: '/usr/bin' }, program),
    `sudo ln -s ${program} /usr/local/bin/adit`,
  )
  symlinkSync(program, join(bin, 'adit'))
  assert.equal(offerCommandOnPath(environment, program), undefined)
})

test('without a launcher that a link could lead to, nothing is offered', () => {
  assert.equal(offerCommandOnPath({ PATH: '/usr/bin' }, '/nonexistent/adit'), undefined)
})
