import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireFollower } from './service-manager.ts'

test('a service whose unit does not let systemd follow another process is not upgraded', () => {
  const SYSTEMD_EXEC_PID = String(process.pid)

  assert.throws(() => requireFollower({ SYSTEMD_EXEC_PID }), /Add NotifyAccess=all/)
  requireFollower({ SYSTEMD_EXEC_PID, NOTIFY_SOCKET: '/run/systemd/notify' })
  requireFollower({ SYSTEMD_EXEC_PID: '1' })
  requireFollower({})
})
