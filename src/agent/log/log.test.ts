import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../../base/values/secret.ts'
import type { LogFormat } from './format.ts'
import { createAgentLog, type LogLevel } from './log.ts'

function lines(format: LogFormat, level: LogLevel = 'debug') {
  const written: string[] = []
  const log = createAgentLog({
    output: (line) => written.push(line),
    format,
    level,
    now: () => new Date(2026, 2, 4, 5, 6, 7, 89),
  })
  return { log, written }
}

test('logfmt lines carry time, four-letter level, message and quoted values', () => {
  const { log, written } = lines('logfmt')

  log.info('starting web service', { obj: 'web', addr: '127.0.0.1:4040', allow_hosts: [] })
  log.error('failed to auth', { err: new Error('say "no"') })

  assert.match(
    written[0]!,
    /^t=2026-03-04T05:06:07[+-]\d{4} lvl=info msg="starting web service" obj=web addr=127\.0\.0\.1:4040 allow_hosts=\[\]\n$/,
  )
  assert.match(written[1]!, /lvl=eror msg="failed to auth" err="say \\"no\\""/)
})

test('a line break in a value is escaped once, as are quotes and backslashes', () => {
  const { log, written } = lines('logfmt')

  log.error('failed', { err: 'one\ntwo "three" \\four' })

  assert.ok(written[0]!.endsWith(' err="one\\ntwo \\"three\\" \\\\four"\n'), written.join())
})

test('JSON lines have sorted keys and a time with nanoseconds', () => {
  const { log, written } = lines('json')

  log.warn('x', { zone: 1, addr: 'a' })

  const line = JSON.parse(written[0]!)
  assert.deepEqual(Object.keys(line), ['addr', 'lvl', 'msg', 't', 'zone'])
  assert.match(line.t, /^2026-03-04T05:06:07\.089000000[+-]\d\d:\d\d$/)
  assert.equal(line.lvl, 'warn')
})

test('lines below the level are not written', () => {
  const { log, written } = lines('logfmt', 'warn')

  log.debug('a')
  log.info('b')
  log.crit('c')

  assert.equal(written.length, 1)
  assert.ok(!log.enabled('info'))
})

test('a hidden token is redacted wherever it appears', () => {
  const { log, written } = lines('logfmt')
  log.hide('2abcTOKEN')

  log.error('failed to auth', { err: 'the token 2abcTOKEN is unknown', token: new Secret('other') })

  assert.doesNotMatch(written.join(), /2abcTOKEN|other/)
})

test('client data cannot break a line or reach the terminal', () => {
  const { log, written } = lines('logfmt')

  log.info('join connections', { path: 'a\nt=fake \u001b[2J' })

  assert.equal(written[0]!.split('\n').length, 2)
  assert.ok(!written[0]!.includes('\u001b'))
})
