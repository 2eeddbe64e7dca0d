import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCidr } from '../values/cidr.ts'
import { containsAddress, isPublicAddress } from './public-address.ts'

const isPublic = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.1.1',
]
  .concat([
    '192.167.255.255',
    '198.17.0.1',
    '198.20.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
  ])
  .concat(['2001:4860:4860::8888', '2003::1'])

const isInternal = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.0.1',
]
  .concat([
    '169.254.169.254',
    '100.100.100.200',
    'fd00:ec2::254',
    '168.63.129.16',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
  ])
  .concat([
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.9',
    '224.0.0.1',
    '240.0.0.1',
  ])
  .concat([
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:0:7f00:1',
  ])
  .concat([
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:0:7f00:1::',
    '2001:10::1',
    '2001:20::1',
  ])
  .concat([
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
  ])
  .concat(['fe80::1%eth0', 'ff02::1', 'localhost', '', '2130706433', '0x7f.1', '127.1', '1.1.1.1 '])

test('addresses of the public Internet are public', () => {
  for (const address of isPublic) assert.equal(isPublicAddress(address), true, address)
})

test('all other addresses and malformed addresses are not public', () => {
  for (const address of isInternal) assert.equal(isPublicAddress(address), false, address)
})

test('a range contains its addresses, in either spelling of IPv4', () => {
  const range = parseCidr('10.1.0.0/16')

  const contained = [
    '10.1.0.0',
    '10.1.255.255',
    '::ffff:10.1.2.3',
    '10.2.0.0',
    '10.0.255.255',
    '::1',
    'x',
  ].map((address) => containsAddress(range, address))

  assert.deepEqual(contained, [true, true, true, false, false, false, false])
  assert.equal(containsAddress(parseCidr('0.0.0.0/0'), '255.1.2.3'), true)
  assert.equal(containsAddress(parseCidr('::/0'), 'ffff::'), true)
})
