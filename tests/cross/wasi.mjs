// SPDX-License-Identifier: MIT
// wasi.mjs PROGRAM.wasm ARGUMENTS...: runs a WebAssembly program for WASI, which sees the folders that it is run in and /tmp.
import { readFile } from 'node:fs/promises';
import { argv } from 'node:process';
import { WASI } from 'node:wasi';

const wasi = new WASI({ version: 'preview1', args: argv.slice(2), preopens: { '/': '/' }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(await readFile(argv[2]), wasi.getImportObject());
process.exitCode = wasi.start(instance);
