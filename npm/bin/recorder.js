#!/usr/bin/env node
import { runProgram } from "../lib/binary.js";

runProgram("recorder", process.argv.slice(2));
