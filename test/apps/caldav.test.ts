import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { installPython } from './installs.ts'
import { assertSameUse } from './same-use.ts'

function createEvent(id: number, summary: string): string {
  const lines = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//apps//EN', 'BEGIN:VEVENT', `UID:event-${id}`],
    ...[
      'DTSTAMP:20260101T000000Z',
      'DTSTART:20260102T100000Z',
      'DTEND:20260102T110000Z',
      `SUMMARY:${summary}`,
    ],
    ...['END:VEVENT', 'END:VCALENDAR', ''],
  ]
  return lines.join('\r\n')
}

/** One pair for each of two people who share the calendars of one account. */
function createConfiguration(dir: string, url: string): string {
  const people = ['ada', 'bob'].flatMap((person) => [
    `[pair ${person}]\na = "${person}_files"\nb = "${person}_server"\ncollections = ["work"]\nconflict_resolution = "b wins"`,
    `[storage ${person}_files]\ntype = "filesystem"\npath = "${join(dir, person)}"\nfileext = ".ics"`,
    `[storage ${person}_server]\ntype = "caldav"\nurl = "${url}/team/"\nusername = "team"\npassword = "secret"`,
  ])
  return [`[general]\nstatus_path = "${join(dir, 'status')}"`, ...people].join('\n\n')
}

test('CalDAV: two people synchronise a calendar of radicale with vdirsyncer', {
  skip: missingPrograms('python3'),
}, async (t) => {
  const programs = await installPython(t, 'radicale==3.9.0', 'vdirsyncer==0.21.0')
  if (programs === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      const users = join(createTempDir(), 'users')
      writeFileSync(users, 'team:secret\n')
      const flags = {
        'server-hosts': `127.0.0.1:${port}`,
        'storage-filesystem-folder': createTempDir(),
        'auth-type': 'htpasswd',
        'auth-htpasswd-filename': users,
        'auth-htpasswd-encryption': 'plain',
      }
      const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
      await startServiceProgram(t, [join(programs.bin, 'radicale'), '--config', '', ...args], { port })
      return port
    },
    async ({ url, dir, run }) => {
      const vdirsyncer = (command: string) =>
        run(['sh', '-c', `yes | ${join(programs.bin, 'vdirsyncer')} --config config ${command}`])
      const [ada, bob] = ['ada', 'bob'].map((person) => join(dir, person, 'work')) as [string, string]
      for (const calendar of [ada, bob]) mkdirSync(calendar, { recursive: true })
      writeFileSync(join(dir, 'config'), createConfiguration(dir, url))
      for (let id = 0; id < 30; id++)
        writeFileSync(join(ada, `event-${id}.ics`), createEvent(id, `Stand-up ${id} ☕`))

      await vdirsyncer('discover')
      await vdirsyncer('sync ada')
      await vdirsyncer('sync bob')
      for (const [id, summary] of [
        [0, 'Moved'],
        [100, 'New'],
      ] as const)
        writeFileSync(join(bob, `event-${id}.ics`), createEvent(id, summary))
      rmSync(join(bob, 'event-1.ics'))
      await vdirsyncer('sync bob')
      await vdirsyncer('sync ada')
      // The server may put the lines of an event into another order.
      const read = (calendar: string) =>
        readdirSync(calendar)
          .sort()
          .map((name) => [name, readFileSync(join(calendar, name), 'utf8').split(/\r?\n/).sort()])
      return { ada: read(ada), bob: read(bob) }
    },
  )
  assert.equal(seen?.ada.length, 30)
  assert.deepEqual(seen?.ada, seen?.bob)
  assert.match(JSON.stringify(seen?.ada), /SUMMARY:Moved/)
})
