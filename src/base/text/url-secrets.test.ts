import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hideUrlSecrets } from './url-secrets.ts'

const CASES: readonly [url: string, visible: string][] = [
  ['https://example.com:443/path', 'https://example.com:443/path'],
  ['tunnel.example.com:443', 'tunnel.example.com:443'],
  ['', ''],
  ['https://me:CANARY@example.com/x', 'https://[hidden]@example.com/x'],
  ['https://CANARY@example.com', 'https://[hidden]@example.com'],
  ['https://me:CAN@CANARY@example.com', 'https://[hidden]@example.com'],
  ['https://me:CAN/CANARY@example.com', 'https://[hidden]@example.com'],
  ['me:CANARY@example.com:443', '[hidden]@example.com:443'],
  ['me:CANARY://CANARY@example.com', '[hidden]@example.com'],
  ['https://a:CANARY@one.test,https://b:CANARY@two.test', 'https://[hidden]@two.test'],
  ['https://example.com/x?token=CANARY#CANARY', 'https://example.com/x?[hidden]'],
  ['https://example.com/x#CANARY?CANARY', 'https://example.com/x#[hidden]'],
  ['https://me:CAN?CANARY@example.com', 'https://[hidden]@example.com'],
  ['https://example.com/x?mail=CANARY@b.test', 'https://[hidden]@b.test'],
]

for (const [url, visible] of CASES)
  test(`a URL is shown without its secrets: ${JSON.stringify(visible)}`, () => {
    assert.equal(hideUrlSecrets(url), visible)
  })
