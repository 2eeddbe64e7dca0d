import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createTestCa, type TlsIdentity } from '../../../test/support/test-ca.ts'
import { CommandFailure } from '../../base/process/command-line.ts'
import { CertificateFiles, readCertificateFiles } from './certificate-files.ts'

const DAY = 24 * 60 * 60 * 1000
const domain = 'adit.test'
const ca = await createTestCa()
const wildcard = await ca.issue(domain, `*.${domain}`)
const renewed = await ca.issue(domain, `*.${domain}`)

async function createFiles(identity: TlsIdentity) {
  const dir = createTempDir()
  const paths = { certFile: join(dir, 'tls.pem'), keyFile: join(dir, 'tls.key') }
  const write = async ({ cert, key }: Partial<TlsIdentity>) => {
    if (cert !== undefined) await writeFile(paths.certFile, cert)
    if (key !== undefined) await writeFile(paths.keyFile, key)
  }
  await write(identity)
  return { paths, write }
}

/** Opens the files of a server, at a time relative to now, with what it logs. */
async function openFiles(t: TestContext, { ageMs = 0 } = {}) {
  const { paths, write } = await createFiles(wildcard)
  const lines: { level: number; msg: string; reason?: string }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  let now = Date.now() + ageMs
  const clock = { now: () => now, monotonic: () => 0 }
  const files = await CertificateFiles.open({ paths, domain, clock, log })
  t.after(() => files.stop())
  return {
    ...{ files, paths, write },
    messages: () => lines.map(({ msg }) => msg),
    reasons: () => lines.map(({ reason }) => reason),
    wait: (ms: number) => {
      now += ms
    },
  }
}

test('the files are served for the names of the domain that they are for', async () => {
  const bare = await ca.issue(`*.${domain}`, 'other.test')

  const whole = await readCertificateFiles((await createFiles(wildcard)).paths, domain)
  const partial = await readCertificateFiles((await createFiles(bare)).paths, domain)

  assert.deepEqual(whole.names, [domain, `*.${domain}`])
  assert.deepEqual(partial.names, [`*.${domain}`])
  assert.ok(whole.notAfter > Date.now())
})

const other = await ca.issue('other.test')
const rejected: [string, Partial<TlsIdentity>, RegExp][] = [
  [
    'a certificate of other names',
    other,
    /^--tls-cert: .*is for other\.test\. It has to be for \*\.adit\.test/,
  ],
  [
    'a key of another certificate',
    { key: other.key },
    /^--tls-key \S+tls\.key: The private key does not belong/,
  ],
  ['swapped files', { cert: wildcard.key, key: wildcard.cert }, /^--tls-cert \S+: .*swapped/],
  ['an empty key', { key: '' }, /^--tls-key \S+: The private key is empty/],
  ['text', { cert: 'hello' }, /^--tls-cert \S+: The certificate is not PEM/],
]
for (const [name, change, sentence] of rejected)
  test(`${name}: the server does not start and says why`, async () => {
    const { paths } = await createFiles({ ...wildcard, ...change })

    await assert.rejects(
      readCertificateFiles(paths, domain),
      (error: Error) => error instanceof CommandFailure && sentence.test(error.message),
    )
  })

test('a file that does not exist is named with its flag', async () => {
  const { paths } = await createFiles(wildcard)
  await rm(paths.keyFile)

  await assert.rejects(
    readCertificateFiles(paths, domain),
    /^CommandFailure: --tls-key: \S+tls\.key cannot be read/,
  )
})

test('replaced files are served, half of a pair changes nothing and is reported once', async (t) => {
  const { files, write, messages, reasons } = await openFiles(t, { ageMs: -60 * DAY })
  const before = files.current

  await write({ cert: renewed.cert })
  await files.check()
  await files.check()
  assert.equal(files.current, before)
  assert.deepEqual(messages(), ['certificate files rejected, previous certificate still served'])
  assert.match(reasons()[0]!, /--tls-key .* does not belong to the first certificate/)

  await write({ key: renewed.key })
  await files.check()
  assert.notEqual(files.current.version, before.version)
  assert.equal(files.current.keyPem, renewed.key)
  assert.equal(messages().at(-1), 'certificate files reloaded')
})

test('a certificate that expires soon is reported once a day, and after its end as an error', async (t) => {
  const { files, messages, wait } = await openFiles(t, { ageMs: -21 * DAY })
  files.start()
  assert.deepEqual(messages(), [])

  wait(2 * DAY)
  await files.check()
  await files.check()
  assert.deepEqual(messages(), ['certificate files expire soon'])

  wait(20 * DAY)
  await files.check()
  assert.deepEqual(messages(), ['certificate files expire soon', 'certificate files expired'])
})
