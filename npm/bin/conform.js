#!/usr/bin/env node
import { runProgram } from "../lib/binary.js";

runProgram("conform", process.argv.slice(2));
