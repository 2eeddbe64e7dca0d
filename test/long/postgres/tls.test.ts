import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { cleanEnv, runProgram } from '../../support/agent-process.ts'
import { eventually } from '../../support/eventually.ts'
import { enableTls, execute } from '../../support/postgres.ts'
import { startNodes } from '../../support/rolling-restart.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { portOf, startCluster } from './cluster.ts'
import { allWell } from './nodes.ts'
import { assertServed } from './served.ts'
import { startTraffic } from './traffic.ts'

const PASSWORD = 'correct-horse-battery'
/** The nodes' role needs TLS and its password; the test and the standby need neither. */
const ACCESS = `host all adit 127.0.0.1/32 trust
host replication adit 127.0.0.1/32 trust
hostssl all adit_app 127.0.0.1/32 scram-sha-256
`

test('over TLS that verifies the server, nodes follow a failover, refuse another certificate, and show their password nowhere', async (t) => {
  const cluster = await startCluster(t)
  const { primary, standby } = cluster
  const [ca, otherCa] = [await createTestCa(), await createTestCa()]
  for (const server of [primary, standby]) {
    writeFileSync(join(server.dataDir, 'pg_hba.conf'), ACCESS)
    await enableTls(server, await ca.issue('localhost'))
  }
  await execute(primary.url, `CREATE ROLE adit_app LOGIN PASSWORD '${PASSWORD}'`)
  await execute(primary.url, 'GRANT CREATE ON SCHEMA public TO adit_app')
  const caFile = join(createTempDir(), 'ca.pem')
  writeFileSync(caFile, ca.caPem)
  const hosts = [primary, standby].map((server) => `localhost:${portOf(server)}`)
  const parameters = `target_session_attrs=read-write&sslmode=verify-full&sslrootcert=${encodeURIComponent(caFile)}`
  const url = `postgres://adit_app:${PASSWORD}@${hosts}/postgres?${parameters}`
  const { nodes } = await startNodes(t, 2, () => url)
  const traffic = await startTraffic(t, nodes)
  await traffic.written(60)
  const sessions = await execute(
    primary.url,
    "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'adit_app'",
  )
  assert.deepEqual(sessions, [{ ssl: true }])

  await primary.kill()
  await traffic.writersRejected()
  await cluster.promote()
  await allWell(nodes)
  await traffic.history.reconcile(traffic.calls[0]!)
  traffic.writeAgain()
  await traffic.written(60)

  await enableTls(standby, await otherCa.issue('localhost'))
  await execute(
    standby.url,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'adit_app'",
  )
  await traffic.writersRejected()
  for (const { url: api } of nodes)
    await eventually(async () => {
      const text = await (await fetch(`${api}/readyz?strict`)).text()
      return /certificate|verif/.test(text)
    }, 'it says that the certificate is wrong')
  await traffic.visited(200)
  await enableTls(standby, await ca.issue('localhost'))

  await allWell(nodes)
  traffic.writeAgain()
  await traffic.written(60)
  await traffic.stop()
  await traffic.history.verify(traffic.calls[1]!)
  await assertServed(nodes, standby.url, traffic.history)

  const dataDirs = nodes.map(({ credentials }) => dirname(credentials.ca_file))
  const backup = join(createTempDir(), 'backup.db')
  const env = cleanEnv(dataDirs[0]!, { ADIT_DATABASE_URL: url })
  const backingUp = await runProgram(t, ['server', 'backup', backup, '--data-dir', dataDirs[0]!], { env })
  assert.equal(backingUp.code, 0, backingUp.stderr)
  for (const file of [backup, ...dataDirs.flatMap(filesIn)])
    assert.ok(!readFileSync(file).includes(PASSWORD), `${file} contains the password`)
  for (const { pid, output } of nodes) {
    assert.ok(!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(PASSWORD), 'the list of processes')
    assert.ok(!output().includes(PASSWORD), 'the log')
  }
})

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}
